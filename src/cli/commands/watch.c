/* Asks a running job's collectors every second and shows their answers, or prints lines and starts
 * the user's commands; see watch.h. */
#include "cli/commands/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/remedy.h"
#include "rank/ring/tick.h"
#include "report/live/liveview.h"
#include "report/report.h"
#include "report/writing/json_row.h"
#include "run/ctl.h"
#include "run/hangfile.h"

#define SECOND ((int64_t)1000000000)

/* A command is killed after COMMAND_S. */
enum { COMMAND_S = 30, BEGINNING_S = 60, LINE = 1024 };

static __attribute__((format(printf, 2, 3))) void say(struct pw_alerts *alerts, const char *format,
                                                      ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(alerts->problem, sizeof(alerts->problem), format, arguments);
    va_end(arguments);
    if (!alerts->is_screen)
        pw_say("%s", alerts->problem);
}

/* ---- the command of an alert ---- */

__attribute__((noreturn)) static void be_command(const struct pw_alerts *alerts, int input)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    const int nowhere = alerts->is_screen ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
    if (input == STDIN_FILENO)
        fcntl(input, F_SETFD, 0);
    else if (dup2(input, STDIN_FILENO) < 0)
        _exit(126);
    if (dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0)
        _exit(126);
    execl("/bin/sh", "sh", "-c", alerts->command, (char *)NULL);
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
static int place_for_command(const struct pw_alerts *alerts, int64_t now_ns)
{
    const int64_t oldest = alerts->started_ns[alerts->nstarted];
    for (int i = 0; i < PW_ALERTS_RUNNING && (!oldest || now_ns - oldest >= 60 * SECOND); i++)
        if (!alerts->running[i].pid)
            return i;
    return -1;
}

static void start(struct pw_alerts *alerts, int place, const char *text)
{
    const int input = input_of(text);
    const pid_t pid = input < 0 ? input : fork();
    if (pid == 0)
        be_command(alerts, input);
    if (pid < 0)
        say(alerts, "an alert is lost: the command of --on-alert cannot be started: %s",
            strerror(input < 0 ? -input : errno));
    if (input >= 0)
        close(input);
    if (pid < 0)
        return;
    setpgid(pid, pid); /* here, too: it may be killed before it runs */
    alerts->running[place].pid = pid;
    alerts->running[place].until_ns = pw_local_ns() + COMMAND_S * SECOND;
    alerts->running[place].is_killed = 0;
    alerts->started_ns[alerts->nstarted] = pw_local_ns();
    alerts->nstarted = (alerts->nstarted + 1) % PW_ALERTS_MINUTE;
}

static void start_waiting(struct pw_alerts *alerts)
{
    int place;
    while (alerts->nwaiting && (place = place_for_command(alerts, pw_local_ns())) >= 0) {
        start(alerts, place, alerts->waiting[0]);
        free(alerts->waiting[0]);
        alerts->nwaiting--;
        memmove(alerts->waiting, alerts->waiting + 1,
                (size_t)alerts->nwaiting * sizeof(*alerts->waiting));
    }
}

void pw_alerts_run(struct pw_alerts *alerts, const char *text)
{
    char *copy = alerts->nwaiting < PW_ALERTS_WAITING ? strdup(text) : NULL;
    if (copy)
        alerts->waiting[alerts->nwaiting++] = copy;
    else
        say(alerts, "an alert is lost: %d wait for the command of --on-alert", alerts->nwaiting);
    start_waiting(alerts);
}

static void tell_end(struct pw_alerts *alerts, int status, int is_killed)
{
    if (is_killed)
        say(alerts, "the command of --on-alert was killed: it ran for more than %d s", COMMAND_S);
    else if (WIFSIGNALED(status))
        say(alerts, "the command of --on-alert was ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status))
        say(alerts, "the command of --on-alert ended with status %d", WEXITSTATUS(status));
}

int pw_alerts_tend(struct pw_alerts *alerts)
{
    const int64_t now_ns = pw_local_ns();
    int running = 0, status;
    for (int i = 0; i < PW_ALERTS_RUNNING; i++) {
        const pid_t pid = alerts->running[i].pid;
        if (!pid)
            continue;
        if (waitpid(pid, &status, WNOHANG)) { /* it has ended, or is no child */
            tell_end(alerts, status, alerts->running[i].is_killed);
            alerts->running[i].pid = 0;
        } else if (now_ns > alerts->running[i].until_ns && !alerts->running[i].is_killed) {
            kill(-pid, SIGKILL);
            alerts->running[i].is_killed = 1;
        }
    }
    start_waiting(alerts);
    for (int i = 0; i < PW_ALERTS_RUNNING; i++)
        running += alerts->running[i].pid != 0;
    return running + alerts->nwaiting;
}

/* ---- what alerts tell ---- */

static void deliver(struct pw_alerts *alerts, const char *line, json_t *object)
{
    if (alerts->lines == PW_ALERTS_PRINTED)
        printf("%s\n", line);
    if (alerts->lines == PW_ALERTS_SAID)
        pw_say("%s", line);
    if (alerts->command[0]) {
        json_object_set_new(object, "directory", pw_json_text(alerts->dir, strlen(alerts->dir)));
        char *text = object ? json_dumps(object, JSON_COMPACT) : NULL, *line_of_it = NULL;
        if (text && asprintf(&line_of_it, "%s\n", text) >= 0)
            pw_alerts_run(alerts, line_of_it);
        else
            say(alerts, "an alert is lost: there is no memory for it");
        free(line_of_it);
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
 * neither compared nor measured a step for BEGINNING_S is such a case. */
static void tell_state(struct pw_alerts *alerts, const struct pw_livealarms_state *state,
                       time_t now)
{
    char line[LINE], clock[16], text[LINE / 2] = "can tell again";
    if (!alerts->known_at || state->tested || state->measured)
        alerts->known_at = now;
    const int is_blind =
        state->is_idle || state->is_silent || now - alerts->known_at >= BEGINNING_S;
    if (is_blind == alerts->is_blind || (!is_blind && !state->tested))
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

static void tell_alarms(struct pw_alerts *alerts, struct pw_livealarms *alarms, time_t now)
{
    const struct pw_livealarm *alarm;
    while ((alarm = pw_livealarms_tell(alarms, now)))
        tell_alarm(alerts, alarm);
}

void pw_alerts_tell(struct pw_alerts *alerts, struct pw_livealarms *alarms, time_t now)
{
    const struct pw_livealarms_state state = pw_livealarms_state(alarms, now);
    tell_state(alerts, &state, now);
    tell_alarms(alerts, alarms, now);
}

void pw_alerts_finish(struct pw_alerts *alerts, struct pw_livealarms *alarms, const sigset_t *ends)
{
    enum { HOUR_S = 3600 };
    const struct timespec look = {.tv_nsec = SECOND / 50};
    tell_alarms(alerts, alarms, time(NULL) + HOUR_S); /* those that were too new, too */
    while (pw_alerts_tend(alerts) && sigtimedwait(ends, NULL, &look) < 0)
        ;
}

void pw_alerts_fini(struct pw_alerts *alerts)
{
    for (int i = 0; i < PW_ALERTS_RUNNING; i++)
        if (alerts->running[i].pid)
            kill(-alerts->running[i].pid, SIGKILL);
    while (alerts->nwaiting)
        free(alerts->waiting[--alerts->nwaiting]);
}

/* ---- the view ---- */

/* Switches to the terminal's alternate screen, which keeps the old contents, and hides the
 * cursor. */
static const char enter_screen[] = "\033[?1049h\033[?25l", leave_screen[] = "\033[?25h\033[?1049l";
static const char to_top[] = "\033[H", end_of_line[] = "\033[K", rest_of_screen[] = "\033[J";

enum { LEAST_COLUMNS = 20, LEAST_LINES = 4 };

struct watch {
    const char *dir;
    size_t ranks;
    int is_screen; /* standard output is a terminal with an alternate screen */
    int is_coloured;
    struct pw_livealarms *alarms;
    int is_beside;           /* 1: the job may not answer for a while */
    struct pw_alerts alerts; /* with lines: instead of the view */
    char *last;              /* the last text shown; NULL: none yet */
};

static int is_running(const char *dir)
{
    int32_t *ranks = NULL;
    int n = pw_inquiry_running(dir, &ranks);
    free(ranks);
    return n > 0;
}

static struct pw_livepace_look look_of(const struct watch *watch, int is_screen)
{
    struct pw_livepace_look look = {.title = watch->dir,
                                    .columns = PW_REPORT_WIDTH,
                                    .lines = SIZE_MAX,
                                    .ranks = watch->ranks,
                                    .alarms = watch->alarms,
                                    .now = time(NULL),
                                    .is_coloured = watch->is_coloured};
    struct winsize size = {0};
    if (!is_screen || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
        return look;
    look.columns = size.ws_col > LEAST_COLUMNS ? size.ws_col : LEAST_COLUMNS;
    /* One line less, because a newline in the last line would scroll. */
    look.lines = size.ws_row > LEAST_LINES ? size.ws_row - 1u : LEAST_LINES;
    return look;
}

/* Returns the text of one refresh, which the caller frees; NULL when memory is short. */
static char *compose(const struct watch *watch, const struct pw_inquiry *inquiry)
{
    const char *problem = watch->is_screen ? watch->alerts.problem : "";
    struct pw_livepace_look look = look_of(watch, watch->is_screen);
    struct pw_live_view view = {.ranks = inquiry->lives, .n = inquiry->n};
    int32_t *silent = NULL;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    view.nsilent = pw_hangfile_silent(inquiry, &silent);
    view.silent = silent;
    look.lines -= problem[0] != '\0';
    int err = pw_livepace_print(&view, &look, out);
    if (problem[0])
        fprintf(out, "%.*s\n", (int)look.columns, problem);
    free(silent);
    if (fclose(out) == 0 && !err)
        return text;
    free(text);
    return NULL;
}

/* Overwrites the old text without clearing the screen, so that it does not flicker. */
static void paint(const char *text)
{
    fputs(to_top, stdout);
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("%.*s%s\n", (int)length, text, end_of_line);
        text += length + (text[length] == '\n');
    }
    fputs(rest_of_screen, stdout);
}

static int show(struct watch *watch, const struct pw_inquiry *inquiry)
{
    if (watch->alerts.lines || watch->is_beside)
        return fflush(stdout) ? -EIO : 0;
    char *text = compose(watch, inquiry);
    if (!text)
        return -ENOMEM;
    if (watch->is_screen)
        paint(text);
    else
        printf("%s%s", watch->last ? "\n" : "", text);
    free(watch->last);
    watch->last = text;
    return fflush(stdout) ? -EIO : 0;
}

/* Returns 1 after a signal that asks this program to end, else 0. */
static int sleep_until(int64_t until_ns, const sigset_t *ends)
{
    int64_t left = until_ns - pw_local_ns();
    left = left > 0 ? left : 0;
    const struct timespec rest = {.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
    return sigtimedwait(ends, NULL, &rest) > 0;
}

/* Asks the ranks once and shows the answers. Returns 0; -EINTR after a signal, -ENODATA when the
 * job has ended, or another -errno, which is printed after the screen was left. */
static int refresh(struct watch *watch, const sigset_t *ends)
{
    const struct pw_request request = {.wants_steps = 1,
                                       .steps_after = pw_livealarms_after(watch->alarms)};
    struct pw_inquiry inquiry;
    pw_inquiry_init(&inquiry, watch->dir);
    int err = pw_ctl_gather(&inquiry, &request, ends);
    if (!err && pw_livealarms_take(watch->alarms, inquiry.lives, inquiry.n, time(NULL)) < 0)
        err = -ENOMEM;
    if (!err) {
        pw_alerts_tell(&watch->alerts, watch->alarms, time(NULL));
        err = show(watch, &inquiry);
    }
    pw_inquiry_fini(&inquiry);
    return err == -EBUSY ? 0 : err; /* another program asks: try again next time */
}

static int follow(struct watch *watch, const sigset_t *ends)
{
    int64_t next = pw_local_ns();
    int err = 0;
    while (!err && is_running(watch->dir)) {
        next = pw_local_ns() > next + SECOND ? pw_local_ns() : next;
        next += SECOND;
        pw_alerts_tend(&watch->alerts);
        err = refresh(watch, ends);
        if (err == -ENODATA && watch->is_beside)
            err = 0;
        if (!err)
            err = sleep_until(next, ends) ? -EINTR : 0;
    }
    return err;
}

static int conclude(const struct watch *watch, int err)
{
    static struct pw_inquiry inquiry;
    if (watch->is_screen && watch->last)
        fputs(watch->last, stdout); /* keep the last view after leaving the screen */
    if (!err || (err == -ENODATA && !is_running(watch->dir)))
        printf("The job has ended.\n");
    else if (err == -EIO || err == -ENOMEM)
        pw_error("cannot show the job: %s", pw_remedy(err));
    else if (err != -EINTR) {
        pw_inquiry_init(&inquiry, watch->dir);
        pw_ctl_explain(&inquiry, err);
    }
    if (fflush(stdout))
        return 1;
    return err && err != -EINTR && (err != -ENODATA || is_running(watch->dir));
}

int pw_cli_watch(const char *dir, const struct pw_cli_watched *what)
{
    const char *terminal = getenv("TERM"), *colourless = getenv("NO_COLOR");
    struct watch watch = {.dir = dir,
                          .ranks = what->ranks,
                          .alerts = {.dir = dir, .command = what->command, .lines = what->alerts}};
    sigset_t ends;
    int32_t *running = NULL;
    int n = pw_inquiry_running(dir, &running);
    free(running);
    if (n == 0) {
        pw_error("no job runs in %s: 'profwrap report %s' shows one that has ended", dir, dir);
        return 1;
    }
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    watch.is_screen =
        isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0 && !what->alerts;
    watch.alerts.is_screen = watch.is_screen;
    watch.is_coloured = watch.is_screen && !(colourless && colourless[0]);
    watch.alarms = pw_livealarms_create(what->alarms_per_day);
    if (!watch.alarms)
        return conclude(&watch, -ENOMEM);
    pw_ctl_block_signals(&ends);
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, children cannot be waited for */
    if (watch.is_screen)
        fputs(enter_screen, stdout);
    int err = follow(&watch, &ends);
    if (watch.is_screen)
        fputs(leave_screen, stdout);
    fflush(stdout);
    watch.alerts.is_screen = 0;
    if (err != -EINTR)
        pw_alerts_finish(&watch.alerts, watch.alarms, &ends);
    pw_alerts_fini(&watch.alerts);
    status = conclude(&watch, err);
    free(watch.last);
    pw_livealarms_destroy(watch.alarms);
    return status;
}

int pw_cli_watch_beside(const char *dir, const struct pw_cli_watched *what, const sigset_t *ends)
{
    struct watch watch = {.dir = dir,
                          .is_beside = 1,
                          .alerts = {.dir = dir, .command = what->command, .lines = what->alerts},
                          .alarms = pw_livealarms_create(what->alarms_per_day)};
    int err = watch.alarms ? follow(&watch, ends) : -ENOMEM;
    if (watch.alarms && err != -EINTR)
        pw_alerts_finish(&watch.alerts, watch.alarms, ends);
    pw_alerts_fini(&watch.alerts);
    pw_livealarms_destroy(watch.alarms);
    if (err && err != -EINTR)
        pw_error("no more alerts of %s: %s", dir, pw_remedy(err));
    return err;
}
