/* `profwrap ctl`: what the ranks of a running job are doing, and what they are to do. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/ctl.h"
#include "core/log.h"
#include "core/options.h"
#include "report/live/liveview.h"
#include "run/ask.h"
#include "run/hangfile.h"
#include "run/steporder.h"

static const char usage[] =
    "usage: profwrap ctl status [--format text|json] [--stacks] DIR, or profwrap ctl start|stop "
    "DIR, or profwrap ctl snapshot [-o DIR] DIR, or profwrap ctl metrics [--serve] [--listen "
    "WHERE] [--token FILE] DIR";

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
        pw_error("cannot write the status");
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

static int run_command(const char *name, const char *dir, const struct pw_options *options)
{
    if (strcmp(name, "status") == 0)
        return show_status(dir, pw_option_flag(options, PW_OPT_CTL_STACKS),
                           strcmp(options->text[PW_OPT_CTL_FORMAT], "json") == 0);
    if (strcmp(name, "snapshot") == 0)
        return pw_ctl_snapshot(dir, options->text[PW_OPT_CTL_OUTPUT]);
    if (strcmp(name, "metrics") == 0)
        return pw_ctl_metrics(dir, options);
    return pw_ctl_order(dir, strcmp(name, "start") == 0, PW_OPENED_CTL);
}

static int is_command(const char *word)
{
    static const char *const names[] = {"status", "start", "stop", "snapshot", "metrics"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(word, names[i]) == 0)
            return 1;
    return 0;
}

int pw_cli_ctl(int argc, char **argv)
{
    struct pw_options options;
    int next = 1, help = 0, version = 0, named = argc > 1 && is_command(argv[1]);
    pw_options_init(&options);
    int err =
        pw_options_parse(&options, PW_CMD_CTL, argc - named, argv + named, &next, &help, &version);
    if (!err && help) {
        printf("U%s\n\n", usage + 1);
        pw_options_print_help(stdout, PW_CMD_CTL);
        return 0;
    }
    if (err || !named || next != argc - 2) {
        pw_error("%s", err ? options.problem : usage);
        return 2;
    }
    return run_command(argv[1], argv[1 + next], &options);
}
