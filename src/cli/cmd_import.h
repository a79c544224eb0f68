/* The program profwrap-import, without its main(), so that fuzzers can link it: the command, and
 * what it prints at its end. Called by import_main.c and tests/fuzz. Tool code. */
#ifndef PW_CLI_CMD_IMPORT_H
#define PW_CLI_CMD_IMPORT_H

#include "import/import.h"

/* The command; argv[0] is its name. Returns the exit status: 0, 1 for failure, 2 for usage. */
int pw_import_command(int argc, char **argv);

/* Prints what became of the ranks that this process had; what is of the job only with `whole`. 1
 * when one of them has no file. */
int pw_import_print(const struct pw_import_plan *plan, const struct pw_import_result *results,
                    int whole);

#endif
