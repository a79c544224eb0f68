/* profwrap's subcommands, and functions that several of them use. Each command takes its own
 * arguments (argv[0] is its name) and returns the exit status: 0, 1 for a failure, 2 for wrong
 * usage, unless its file says otherwise. Called by the programs (main.c, import_main.c), by other
 * commands and by fuzzers. Tool code: it may print and stop. */
#ifndef PW_CLI_COMMANDS_H
#define PW_CLI_COMMANDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int pw_cli_run(int argc, char **argv);
int pw_cli_worker(int argc, char **argv);
int pw_cli_report(int argc, char **argv);
int pw_cli_compare(int argc, char **argv);
int pw_cli_ask(int argc, char **argv);
int pw_cli_mcp(int argc, char **argv);
int pw_cli_dump(int argc, char **argv);
int pw_cli_recover(int argc, char **argv);
int pw_cli_doctor(int argc, char **argv);
int pw_cli_ctl(int argc, char **argv);
int pw_cli_sweep(int argc, char **argv);

/* The program profwrap-import without main(), for import_main.c and for fuzzers, which link its
 * library. */
int pw_import_command(int argc, char **argv);

/* `profwrap [OPTIONS] LAUNCHER ...`: runs the launcher, run->argv, unprofiled, with `count` options
 * of `profwrap run` for its ranks, which are recorded; then merges and reports each job whose rank
 * 0 the launcher started on this host. Returns the launcher's exit status as a shell would. */
struct pw_run;
int pw_cli_launch(struct pw_run *run, char *const *options, int count);

struct pw_cli_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage, *help; /* NULL: internal, not in --help */
};

/* In the order of --help; the last row has no name. */
extern const struct pw_cli_command pw_cli_commands[];

/* Returns the command of that name, or NULL. */
const struct pw_cli_command *pw_cli_find_command(const char *name);

/* Returns the name of a command that is similar to `typed`, or NULL. */
const char *pw_cli_nearest_command(const char *typed);

/* The commands of `profwrap ctl`: the i-th one, with its options as in its usage; NULL behind the
 * last one. */
const char *pw_ctl_command(size_t i, const char **options);

/* Prints the ranks' answers as OpenMetrics text (cmd_ctl.c), and with `alarms` which ranks are
 * slow. Returns 0 or -errno. */
struct pw_inquiry;
struct pw_livealarms;
int pw_metrics_print(const struct pw_inquiry *inquiry, const struct pw_livealarms *alarms,
                     FILE *out);

/* Prints the file on standard output, and its damage on standard error. Returns the exit status, 0
 * or 1. */
int pw_cli_dump_file(const char *path);

struct pw_recovery {
    int recovered, running, failed; /* numbers of ranks */
};

/* Recovers every rank that has a journal in `dir`, and prints each failure. With `clock_domain` not
 * 0, only ranks of that host. Returns 0, or -errno when `dir` cannot be read. */
int pw_cli_recover_all(const char *dir, uint64_t clock_domain, struct pw_recovery *out);

/* What is printed when a run has ended (--report). */
enum pw_cli_shown { PW_SHOWN_NONE, PW_SHOWN_LINE, PW_SHOWN_SUMMARY, PW_SHOWN_FULL };

/* Reads DIR/cluster.h5, writes DIR/report.txt, report.json and, where D3 is, report.html, and
 * prints to `screen` what `shown` says. PROFWRAP_TOP and PROFWRAP_D3 apply. Returns 0, or -errno
 * after one sentence on standard error. */
int pw_cli_report_write(const char *dir, FILE *screen, enum pw_cli_shown shown);

/* Removes the segments of the calling user that no process uses. Their records are lost: call
 * `profwrap recover` first. With `list` nothing is removed: the path of each such segment is
 * printed on `list`, one a line. Returns the number of segments removed or listed, or -errno when
 * /dev/shm cannot be read. */
int pw_sweep_segments(FILE *list);

#endif
