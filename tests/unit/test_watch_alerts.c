/* The command of --on-alert: what it gets, and that neither many of them nor one that hangs is
 * waited for. When it is told that nothing is known. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/watch.h"

#define MS INT64_C(1000000)

enum { RANKS = 4, STEPS = 30, NOW = 1000 };

static void finish(struct pw_alerts *alerts)
{
    struct pw_livealarms *none = pw_livealarms_create(1);
    sigset_t ends;
    sigemptyset(&ends);
    assert_non_null(none);
    pw_alerts_finish(alerts, none, &ends);
    pw_livealarms_destroy(none);
}

static void test_command_gets_the_text(void **state)
{
    char path[UNIT_PATH], command[2 * UNIT_PATH];
    static char text[300000], found[sizeof(text)];
    unit_path(path, state, "alert");
    snprintf(command, sizeof(command), "cat > '%s'", path);
    memset(text, 'x', sizeof(text) - 1); /* more than a pipe holds */
    struct pw_alerts alerts = {.dir = "", .command = command};
    const int in = dup(STDIN_FILENO);
    close(STDIN_FILENO); /* as of a program without one */
    pw_alerts_run(&alerts, text);
    finish(&alerts);
    dup2(in, STDIN_FILENO);
    close(in);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof(found), file), sizeof(text) - 1);
    fclose(file);
    assert_memory_equal(found, text, sizeof(text) - 1);
    assert_string_equal(alerts.problem, "");
}

/* They, and what they started, are killed; those that wait are started then. */
static void test_commands_that_hang(void **state)
{
    (void)state;
    int ends[2];
    char command[64], byte;
    assert_int_equal(pipe(ends), 0);
    snprintf(command, sizeof(command), "sleep 1000 >&%d; true", ends[1]);
    struct pw_alerts alerts = {.dir = "", .command = command};
    for (int i = 0; i < PW_ALERTS_RUNNING + 2; i++)
        pw_alerts_run(&alerts, "");
    close(ends[1]);
    assert_int_equal(pw_alerts_tend(&alerts), PW_ALERTS_RUNNING + 2);
    assert_int_equal(alerts.nwaiting, 2);
    while (alerts.nwaiting) {
        for (int i = 0; i < PW_ALERTS_RUNNING; i++)
            alerts.running[i].until_ns = 0;
        pw_alerts_tend(&alerts);
        usleep(1000);
    }
    assert_non_null(strstr(alerts.problem, "killed"));
    for (int i = 0; i < PW_ALERTS_RUNNING; i++)
        alerts.running[i].until_ns = 0;
    finish(&alerts);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* no process holds the other end */
    close(ends[0]);
}

static void test_commands_of_a_minute(void **state)
{
    (void)state;
    struct pw_alerts alerts = {.dir = "", .command = "true"};
    for (int i = 0; i < PW_ALERTS_MINUTE + 2; i++) {
        pw_alerts_run(&alerts, "");
        while (pw_alerts_tend(&alerts) > alerts.nwaiting)
            usleep(1000);
    }
    assert_int_equal(alerts.nwaiting, 2);
    alerts.started_ns[0] -= 60000 * MS;
    pw_alerts_tend(&alerts);
    assert_int_equal(alerts.nwaiting, 1);
    for (int i = 0; i < PW_ALERTS_WAITING; i++)
        pw_alerts_run(&alerts, "");
    assert_int_equal(alerts.nwaiting, PW_ALERTS_WAITING);
    assert_string_equal(alerts.problem, "an alert is lost: 64 wait for the command of --on-alert");
    pw_alerts_fini(&alerts);
}

/* Gives the alarms `steps` steps of ranks that work equally. */
static void take_steps(struct pw_livealarms *alarms, int64_t first, time_t now)
{
    static struct pw_live_step rows[RANKS][STEPS];
    static struct pw_live lives[RANKS];
    static uint64_t seed = 1;
    for (int r = 0; r < RANKS; r++) {
        lives[r] = (struct pw_live){.rank = r,
                                    .world_size = RANKS,
                                    .step = first + STEPS,
                                    .last_steps = rows[r],
                                    .nlast_steps = STEPS};
        for (int64_t s = 0; s < STEPS; s++)
            rows[r][s] = (struct pw_live_step){
                first + s, 100 * MS, 20 * MS + (int64_t)(unit_random(&seed) % 100000), {0}};
    }
    assert_int_equal(pw_livealarms_take(alarms, lives, RANKS, now), 0);
}

static void test_when_nothing_is_known(void **state)
{
    struct pw_livealarms *alarms = pw_livealarms_create(0.01);
    struct pw_alerts alerts = {.dir = "", .command = ""};
    (void)state;
    pw_alerts_tell(&alerts, alarms, NOW);
    pw_alerts_tell(&alerts, alarms, NOW + 59);
    assert_false(alerts.is_blind);
    pw_alerts_tell(&alerts, alarms, NOW + 60);
    assert_true(alerts.is_blind);
    for (int i = 0; i < 10; i++)
        take_steps(alarms, i * STEPS, NOW + 100);
    pw_alerts_tell(&alerts, alarms, NOW + 100);
    assert_true(pw_livealarms_state(alarms, NOW + 100).tested > 0);
    assert_false(alerts.is_blind);
    pw_alerts_tell(&alerts, alarms, NOW + 159);
    assert_false(alerts.is_blind);
    pw_alerts_tell(&alerts, alarms, NOW + 160); /* the steps have ended */
    assert_true(alerts.is_blind);
    pw_livealarms_destroy(alarms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_command_gets_the_text),
        cmocka_unit_test(test_commands_that_hang),
        cmocka_unit_test(test_commands_of_a_minute),
        cmocka_unit_test(test_when_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
