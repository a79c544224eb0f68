/* The command of --on-alert: what it gets, and that neither many of them nor one that hangs is
 * waited for. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/alerts.h"

static void test_command_gets_the_text(void **state)
{
    char path[UNIT_PATH], command[2 * UNIT_PATH];
    static char text[300000], found[sizeof(text)];
    unit_path(path, state, "alert");
    snprintf(command, sizeof(command), "cat > '%s'", path);
    memset(text, 'x', sizeof(text) - 1); /* more than a pipe holds */
    text[sizeof(text) - 1] = '\0';
    struct pw_alerts alerts = {.dir = "", .command = command};
    pw_alerts_run(&alerts, text);
    pw_alerts_end(&alerts);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof(found), file), sizeof(text) - 1);
    fclose(file);
    assert_memory_equal(found, text, sizeof(text) - 1);
    assert_int_equal(alerts.dropped, 0);
}

static void test_commands_that_hang(void **state)
{
    (void)state;
    struct pw_alerts alerts = {.dir = "", .command = "sleep 1000; true"};
    pid_t pids[PW_ALERTS_COMMANDS];
    for (int i = 0; i < PW_ALERTS_COMMANDS + 2; i++)
        pw_alerts_run(&alerts, "");
    assert_int_equal(alerts.dropped, 2);
    assert_int_equal(pw_alerts_tend(&alerts), PW_ALERTS_COMMANDS);
    for (int i = 0; i < PW_ALERTS_COMMANDS; i++) {
        pids[i] = alerts.running[i].pid;
        alerts.running[i].until_ns = 0;
    }
    pw_alerts_end(&alerts);
    for (int i = 0; i < PW_ALERTS_COMMANDS; i++)
        assert_int_equal(kill(pids[i], 0), -1);
    pw_alerts_run(&alerts, "");
    assert_int_equal(alerts.dropped, 2);
    alerts.running[0].until_ns = 0;
    pw_alerts_end(&alerts);
}

/* One that ends at once may be started again, but not as often as one likes. */
static void test_commands_of_a_minute(void **state)
{
    (void)state;
    struct pw_alerts alerts = {.dir = "", .command = "true"};
    for (int i = 0; i < 40; i++) {
        pw_alerts_run(&alerts, "");
        pw_alerts_end(&alerts);
    }
    assert_int_equal(alerts.dropped, 10);
    alerts.minute_ns -= INT64_C(60000000000);
    pw_alerts_run(&alerts, "");
    pw_alerts_end(&alerts);
    assert_int_equal(alerts.dropped, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_command_gets_the_text),
        cmocka_unit_test(test_commands_that_hang),
        cmocka_unit_test(test_commands_of_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
