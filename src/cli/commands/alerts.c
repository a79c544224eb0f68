/* Prints lines, and starts and ends the user's commands; see alerts.h. */
#include "cli/commands/alerts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "rank/ring/tick.h"

#define SECOND ((int64_t)1000000000)

/* A command is killed after COMMAND_S. */
enum { COMMAND_S = 30, MOST_A_MINUTE = 30, BEGINNING_S = 60, LINE = 1024, LOOK_US = 20000 };

/* ---- the command ---- */

__attribute__((noreturn)) static void be_command(const char *command, int input)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(input, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        _exit(126);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Returns a descriptor from which the text can be read, however long it is; or -errno. */
static int input_of(const char *text)
{
    const int fd = memfd_create("alert", MFD_CLOEXEC);
    const size_t size = strlen(text);
    if (fd < 0)
        return -errno;
    if (write(fd, text, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -EIO;
}

/* Returns the place for one more command; -1: none, as there are too many. */
static int place_for_command(struct pw_alerts *alerts, int64_t now_ns)
{
    if (now_ns - alerts->minute_ns >= 60 * SECOND) {
        alerts->minute_ns = now_ns;
        alerts->started = 0;
    }
    for (int i = 0; i < PW_ALERTS_COMMANDS && alerts->started < MOST_A_MINUTE; i++)
        if (!alerts->running[i].pid)
            return i;
    return -1;
}

void pw_alerts_run(struct pw_alerts *alerts, const char *json)
{
    const int64_t now_ns = pw_local_ns();
    const int place = place_for_command(alerts, now_ns);
    const int input = place < 0 ? -1 : input_of(json);
    const pid_t pid = input < 0 ? -1 : fork();
    if (pid == 0)
        be_command(alerts->command, input);
    if (input >= 0)
        close(input);
    if (pid < 0) {
        alerts->dropped++;
        return;
    }
    setpgid(pid, pid); /* here, too: it may be killed before it runs */
    alerts->started++;
    alerts->running[place].pid = pid;
    alerts->running[place].until_ns = now_ns + COMMAND_S * SECOND;
    alerts->running[place].is_killed = 0;
}

static void tell_end(int status, int is_killed)
{
    if (is_killed)
        pw_say("the command of --on-alert was killed: it ran for more than %d s", COMMAND_S);
    else if (WIFSIGNALED(status))
        pw_say("the command of --on-alert was ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        pw_say("the command of --on-alert ended with status %d", WEXITSTATUS(status));
}

int pw_alerts_tend(struct pw_alerts *alerts)
{
    const int64_t now_ns = pw_local_ns();
    int running = 0, status;
    for (int i = 0; i < PW_ALERTS_COMMANDS; i++) {
        const pid_t pid = alerts->running[i].pid;
        if (!pid)
            continue;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            tell_end(status, alerts->running[i].is_killed);
            alerts->running[i].pid = 0;
            continue;
        }
        running++;
        if (now_ns > alerts->running[i].until_ns && !alerts->running[i].is_killed) {
            kill(-pid, SIGKILL);
            alerts->running[i].is_killed = 1;
        }
    }
    return running;
}

/* ---- what is told ---- */

static void deliver(struct pw_alerts *alerts, const char *line, json_t *object)
{
    if (alerts->prints)
        printf("%s\n", line);
    if (object && alerts->command[0]) {
        json_object_set_new(object, "directory", json_string(alerts->dir));
        char *text = json_dumps(object, JSON_COMPACT);
        if (text)
            pw_alerts_run(alerts, text);
        else
            alerts->dropped++;
        free(text);
    }
    json_decref(object);
}

static const char *clock_of(time_t at, char out[16])
{
    struct tm tm;
    strftime(out, 16, "%H:%M:%S", localtime_r(&at, &tm));
    return out;
}

/* Tells when it becomes unknown whether a rank is slow, and when it is known again. A job that has
 * not compared any step in BEGINNING_S is such a case. */
static void tell_state(struct pw_alerts *alerts, const struct pw_livealarms_state *state,
                       time_t now)
{
    char line[LINE], clock[16], text[LINE / 2] = "can tell again";
    alerts->begun = alerts->begun ? alerts->begun : now;
    const int is_blind = state->is_idle || state->is_silent ||
                         (!state->tested && !state->measured && now - alerts->begun >= BEGINNING_S);
    if (is_blind == alerts->is_blind)
        return;
    alerts->is_blind = is_blind;
    if (is_blind)
        pw_livealarms_state_text(state, text, sizeof(text));
    snprintf(line, sizeof(line), "%s slow ranks: %s", clock_of(now, clock), text);
    deliver(alerts, line,
            json_pack("{s:s, s:s, s:I}", "event", is_blind ? "cannot_tell" : "can_tell", "text",
                      line, "time", (json_int_t)now));
}

static void tell_alarm(struct pw_alerts *alerts, const struct pw_livealarm *alarm)
{
    char line[LINE], clock[16], what[LINE / 4], figures[LINE / 2];
    snprintf(line, sizeof(line), "%s %s: %s",
             clock_of(alarm->ended ? alarm->ended : alarm->begun, clock),
             pw_livealarm_text(alarm, what, sizeof(what)),
             pw_livealarm_figures(alarm, figures, sizeof(figures)));
    deliver(alerts, line, pw_livealarm_json(alarm, line));
}

void pw_alerts_tell(struct pw_alerts *alerts, struct pw_livealarms *alarms, time_t now)
{
    const struct pw_livealarms_state state = pw_livealarms_state(alarms, now);
    const struct pw_livealarm *alarm;
    pw_alerts_tend(alerts);
    tell_state(alerts, &state, now);
    while ((alarm = pw_livealarms_tell(alarms, now)))
        tell_alarm(alerts, alarm);
    if (alerts->dropped)
        pw_say("%" PRId64
               " alerts were not given to the command of --on-alert: at most %d run at a time, "
               "and %d a minute",
               alerts->dropped, PW_ALERTS_COMMANDS, MOST_A_MINUTE);
    alerts->dropped = 0;
}

void pw_alerts_end(struct pw_alerts *alerts)
{
    while (pw_alerts_tend(alerts))
        usleep(LOOK_US);
}
