/* `profwrap ctl`: shows what the ranks of a running job do, and makes them start and stop
 * recording. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/libexec.h"
#include "core/epochdir.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/options.h"
#include "core/remedy.h"
#include "rank/collect/recover.h"
#include "report/live/liveview.h"
#include "run/activities.h"
#include "run/ctl.h"
#include "run/hangfile.h"
#include "run/ordercheck.h"

/* `profwrap ctl metrics DIR`: prints a running job's figures for Prometheus once. A separate
 * program serves them (metrics_main.c), because its HTTP library needs a TLS library, which every
 * `profwrap run` would have to load. */

int pw_metrics_print(const struct pw_inquiry *inquiry, const struct pw_livealarms *alarms,
                     FILE *out)
{
    int32_t *silent = NULL;
    struct pw_live_view view = {
        .ranks = inquiry->lives,
        .n = inquiry->n,
        .nsilent = pw_hangfile_silent(inquiry, &silent),
    };
    view.silent = silent;
    int err = pw_openmetrics_print(&view, alarms, out);
    free(silent);
    return err;
}

static int print_once(const char *dir, const sigset_t *ends)
{
    const struct pw_request request = {0};
    struct pw_inquiry inquiry;
    pw_inquiry_init(&inquiry, dir);
    int status = pw_ctl_ask(&inquiry, &request, ends);
    if (!status && (pw_metrics_print(&inquiry, NULL, stdout) || fflush(stdout))) {
        pw_error("cannot write the metrics: %s", pw_remedy(errno));
        status = 1;
    }
    pw_inquiry_fini(&inquiry);
    return status;
}

/* `ctl metrics`: prints the figures once, or serves them until the job ends. */
static int pw_ctl_metrics(const char *dir, const struct pw_options *options)
{
    sigset_t ends;
    const char *listen = options->text[PW_OPT_CTL_LISTEN];
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    if (listen[0] || pw_option_flag(options, PW_OPT_CTL_SERVE))
        return pw_cli_serve_metrics(dir, listen, options->text[PW_OPT_CTL_TOKEN]);
    pw_ctl_block_signals(&ends);
    return print_once(dir, &ends);
}

/* `profwrap ctl snapshot DIR`: makes rank files from the journals of a running job, which
 * continues. All files end before the same step. */

enum { MOST_SNAPSHOTS = 10000 };

/* Returns 0, or the exit status after an error was printed. */
static int make_directory(const char *dir, const char *given, char to[PATH_MAX])
{
    int err = 0;
    if (given[0]) {
        snprintf(to, PATH_MAX, "%s", given);
        err = mkdir(to, 0700) ? errno : 0;
    }
    for (int n = 1; !given[0] && (n == 1 || err == EEXIST) && n <= MOST_SNAPSHOTS; n++) {
        snprintf(to, PATH_MAX, "%.4000s/snapshot-%d", dir, n);
        err = mkdir(to, 0700) ? errno : 0;
    }
    if (err)
        pw_error("cannot make %s: %s", to, pw_remedy(err));
    return err != 0;
}

/* Returns the lowest of the steps that the ranks were in when their journals were flushed. */
static int64_t common_step(const struct pw_inquiry *inquiry)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < inquiry->n; i++)
        least = inquiry->lives[i].step < least ? inquiry->lives[i].step : least;
    return least;
}

/* Copies the file of a rank that has ended meanwhile. */
static int take_finished(const char *dir, const char *to, int rank)
{
    char from[PATH_MAX + 32], name[PATH_MAX + 32];
    snprintf(from, sizeof(from), "%s/rank-%05d.h5", dir, rank);
    snprintf(name, sizeof(name), "%s/rank-%05d.h5", to, rank);
    return link(from, name) ? -errno : 0;
}

static int take_rank(const char *dir, const char *to, int rank, int64_t cut_step)
{
    char journal[PATH_MAX + 32];
    snprintf(journal, sizeof(journal), "%s/rank-%05d.journal", dir, rank);
    const struct pw_replay_job job = {.journal = journal, .dir = to, .cut_step = cut_step};
    int err = pw_replay_journal(&job, pw_cli_modules());
    if (err == -ENOENT)
        err = take_finished(dir, to, rank);
    if (err)
        pw_error("no snapshot of rank %d: %s", rank, pw_remedy(err));
    return err;
}

static int take_all(const struct pw_inquiry *inquiry, const char *to)
{
    int64_t step = common_step(inquiry);
    size_t taken = 0;
    char until[64] = "";
    pw_h5_quiet();
    for (size_t i = 0; i < inquiry->n; i++)
        taken += take_rank(inquiry->dir, to, inquiry->lives[i].rank, step) == 0;
    if (step >= 0)
        snprintf(until, sizeof(until), ", up to step %" PRId64, step);
    if (taken)
        printf("%s: %zu of %d ranks%s; 'profwrap merge %s' and 'profwrap report %s' show it\n", to,
               taken, (int)inquiry->lives[0].world_size, until, to, to);
    else
        rmdir(to);
    return fflush(stdout) || taken < inquiry->n;
}

/* `ctl snapshot`. `to` is "" for a new directory in `dir`. */
static int pw_ctl_snapshot(const char *dir, const char *given)
{
    static struct pw_inquiry inquiry;
    const struct pw_request request = {.kind = PW_REQUEST_SNAPSHOT};
    char to[PATH_MAX];
    sigset_t ends;
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    pw_ctl_block_signals(&ends);
    umask(077);
    pw_inquiry_init(&inquiry, dir);
    status = pw_ctl_ask(&inquiry, &request, &ends);
    status = status ? status : make_directory(dir, given, to);
    sigprocmask(SIG_UNBLOCK, &ends, NULL);
    status = status ? status : take_all(&inquiry, to);
    pw_inquiry_fini(&inquiry);
    return status;
}

static int print_json(const struct pw_inquiry *inquiry, const int32_t *silent, size_t nsilent)
{
    json_t *list = json_array();
    for (size_t i = 0; i < nsilent; i++)
        json_array_append_new(list, json_integer(silent[i]));
    json_t *object = pw_hangfile_json(inquiry, json_pack("{s:o}", "silent", list));
    int err = object ? json_dumpf(object, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII) : -1;
    putchar('\n');
    json_decref(object);
    return err;
}

static int print(const struct pw_inquiry *inquiry, int as_json)
{
    static const struct pw_hang nothing;
    int32_t *silent = NULL;
    struct pw_live_view view = {
        .ranks = inquiry->lives,
        .n = inquiry->n,
        .nsilent = pw_hangfile_silent(inquiry, &silent),
        .hang = &nothing,
    };
    view.silent = silent;
    int err =
        as_json ? print_json(inquiry, silent, view.nsilent) : pw_live_print_status(&view, stdout);
    free(silent);
    if (err || fflush(stdout)) {
        pw_error("cannot write the status: %s", pw_remedy(err ? err : errno));
        return 1;
    }
    return 0;
}

static int show_status(const char *dir, int wants_stacks, int as_json)
{
    const struct pw_request request = {.wants_stacks = wants_stacks};
    struct pw_inquiry inquiry;
    sigset_t ends;
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    pw_ctl_block_signals(&ends);
    pw_inquiry_init(&inquiry, dir);
    status = pw_ctl_ask(&inquiry, &request, &ends);
    status = status ? status : print(&inquiry, as_json);
    pw_inquiry_fini(&inquiry);
    return status;
}

/* `profwrap ctl check`: tells where the ranks differ in the order of collectives. */

enum { STATUS_DIFFERS = 3 };

static void check_as_text(const struct pw_inquiry *inquiry, const struct pw_order_findings *found,
                          size_t nsilent)
{
    char text[PW_ORDER_TEXT];
    for (size_t i = 0; i < found->n; i++) {
        pw_order_write(&found->list[i], text, sizeof(text));
        text[0] = text[0] == 'r' ? 'R' : text[0];
        printf("%s.\n", text);
    }
    if (found->more)
        printf("%zu more communicators differ.\n", found->more);
    if (!found->n)
        printf("%zu ranks answered; they called the same collectives on %zu communicator%s, as far "
               "as all have come.\n",
               inquiry->n, found->compared, found->compared == 1 ? "" : "s");
    if (found->uncompared)
        printf("%zu communicator%s not compared: MPI lets the members differ, or a call failed.\n",
               found->uncompared, found->uncompared == 1 ? " was" : "s were");
    if (nsilent)
        printf("%zu ranks did not answer.\n", nsilent);
}

static int check_as_json(const struct pw_inquiry *inquiry, const struct pw_order_findings *found,
                         size_t nsilent)
{
    json_t *list = json_array();
    for (size_t i = 0; i < found->n; i++)
        json_array_append_new(list, pw_order_json(&found->list[i]));
    json_t *object =
        json_pack("{s:o, s:I, s:I, s:I, s:I}", "order", list, "answered", (json_int_t)inquiry->n,
                  "silent", (json_int_t)nsilent, "compared", (json_int_t)found->compared,
                  "uncompared", (json_int_t)found->uncompared);
    int err = object ? json_dumpf(object, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII) : -1;
    putchar('\n');
    json_decref(object);
    return err;
}

static int check(const struct pw_inquiry *inquiry, int as_json)
{
    static struct pw_order_findings found;
    int32_t *silent = NULL;
    const size_t nsilent = pw_hangfile_silent(inquiry, &silent);
    free(silent);
    pw_ordercheck_find(inquiry, &found);
    int err = 0;
    if (as_json)
        err = check_as_json(inquiry, &found, nsilent);
    else
        check_as_text(inquiry, &found, nsilent);
    const int status = found.n ? STATUS_DIFFERS : 0;
    pw_ordercheck_fini(&found);
    if (err || fflush(stdout)) {
        pw_error("cannot write the result: %s", pw_remedy(err ? err : errno));
        return 1;
    }
    return status;
}

static int run_check(const char *dir, const struct pw_options *options)
{
    const struct pw_request request = {.kind = PW_REQUEST_ORDER};
    const int as_json = strcmp(options->text[PW_OPT_CTL_FORMAT], "json") == 0;
    struct pw_inquiry inquiry;
    sigset_t ends;
    int status = pw_ctl_check_job(dir);
    if (status)
        return status;
    pw_ctl_block_signals(&ends);
    pw_inquiry_init(&inquiry, dir);
    status = pw_ctl_ask(&inquiry, &request, &ends);
    status = status ? status : check(&inquiry, as_json);
    pw_inquiry_fini(&inquiry);
    return status;
}

static int run_status(const char *dir, const struct pw_options *options)
{
    return show_status(dir, pw_option_flag(options, PW_OPT_CTL_STACKS),
                       strcmp(options->text[PW_OPT_CTL_FORMAT], "json") == 0);
}

static int run_start(const char *dir, const struct pw_options *options)
{
    (void)options;
    return pw_ctl_change(dir, 1, PW_OPENED_CTL);
}

static int run_stop(const char *dir, const struct pw_options *options)
{
    (void)options;
    return pw_ctl_change(dir, 0, PW_OPENED_CTL);
}

static int run_snapshot(const char *dir, const struct pw_options *options)
{
    return pw_ctl_snapshot(dir, options->text[PW_OPT_CTL_OUTPUT]);
}

static const struct command {
    const char *name, *options; /* options as in the usage, each after a space */
    int (*run)(const char *dir, const struct pw_options *options);
} commands[] = {
    {"status", " [--format text|json] [--stacks]", run_status},
    {"check", " [--format text|json]", run_check},
    {"start", "", run_start},
    {"stop", "", run_stop},
    {"snapshot", " [-o DIR]", run_snapshot},
    {"metrics", " [--serve] [--listen WHERE] [--token FILE]", pw_ctl_metrics},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

const char *pw_ctl_command(size_t i, const char **options)
{
    *options = i < COMMANDS ? commands[i].options : NULL;
    return i < COMMANDS ? commands[i].name : NULL;
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static void print_help(void)
{
    for (int i = 0; i < COMMANDS; i++)
        printf("%s profwrap ctl %s%s DIR\n", i ? "      " : "Usage:", commands[i].name,
               commands[i].options);
    printf("\n");
    pw_options_print_help(stdout, PW_CMD_CTL);
}

static void say_usage(void)
{
    char names[128] = "";
    size_t used = 0;
    for (int i = 0; i < COMMANDS && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? "|" : "",
                                 commands[i].name);
    pw_error("usage: profwrap ctl %s [OPTIONS] DIR; see profwrap ctl --help", names);
}

int pw_cli_ctl(int argc, char **argv)
{
    struct pw_options options;
    char dir[PATH_MAX], problem[PW_EPOCHDIR_PROBLEM];
    const struct command *command = argc > 1 ? find_command(argv[1]) : NULL;
    struct pw_options_end end;
    int named = command != NULL;
    pw_options_init(&options);
    int err = pw_options_parse(&options, PW_CMD_CTL, argc - named, argv + named, &end);
    if (!err && end.help) {
        print_help();
        return 0;
    }
    if (err) {
        pw_error("%s", options.problem);
        return 2;
    }
    if (!command || end.next != argc - 2) {
        say_usage();
        return 2;
    }
    if (pw_epochdir_choose(argv[1 + end.next], "", dir, sizeof(dir), problem)) {
        pw_error("%s", problem);
        return 2;
    }
    return command->run(dir, &options);
}
