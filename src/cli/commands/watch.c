/* Asks a running job's collectors every second and shows their answers; see watch.h. */
#include "cli/commands/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/remedy.h"
#include "rank/ring/tick.h"
#include "report/live/liveview.h"
#include "report/report.h"
#include "run/ctl.h"
#include "run/hangfile.h"

#define SECOND ((int64_t)1000000000)

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
