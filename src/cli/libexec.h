/* The commands that are separate programs under libexec. Each function executes one with its
 * arguments, and returns only when that fails: the exit status. Called by the table of commands and
 * by commands that need such a program. Tool code: it may print and stop. */
#ifndef PW_CLI_LIBEXEC_H
#define PW_CLI_LIBEXEC_H

#include <stddef.h>

int pw_cli_merge(int argc, char **argv);
int pw_cli_sim(int argc, char **argv);
int pw_cli_import(int argc, char **argv);

/* Whether the merge that is linked with MPI is installed; without it, one process merges. */
int pw_cli_merges_in_parallel(void);

/* Executes the program that writes and reads OTF2 archives, with the arguments of `report` or
 * `import`. Returns the exit status when it cannot. */
int pw_cli_otf2(char *const *argv);

/* Returns how many OTF2 archives begin at `given`, a file named *.otf2 or a directory of such
 * files, and sets `path` to the first one's file; to `given` when there is none. */
int pw_cli_otf2_archives(const char *given, char *path, size_t size);

/* Executes the program that serves a job's metrics. Returns the exit status when it cannot. */
int pw_cli_serve_metrics(const char *dir, const char *listen, const char *token_file);

/* Executes the program that serves the report on `dir`, with the arguments of `report`. Returns the
 * exit status when it cannot. */
int pw_cli_serve_report(const char *dir, char *const *argv);

#endif
