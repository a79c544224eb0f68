/* The program profwrap-import without main(), so that fuzzers can link it. Called by import_main.c
 * and tests/fuzz. Tool code. */
#ifndef PW_CLI_CMD_IMPORT_H
#define PW_CLI_CMD_IMPORT_H

#include "import/import.h"

/* The command; argv[0] is its name. Returns the exit status: 0, 1 for failure, 2 for usage. */
int pw_import_command(int argc, char **argv);

/* Prints the results of the ranks that this process imported; with `whole`, also those of the whole
 * job. Returns 1 when one of its ranks has no file, else 0. */
int pw_import_print(const struct pw_import_plan *plan, const struct pw_import_result *results,
                    int whole);

#endif
