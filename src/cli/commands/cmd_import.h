/* The program profwrap-import without main(), so that fuzzers can link it. Called by import_main.c
 * and tests/fuzz. Tool code. */
#ifndef PW_CLI_CMD_IMPORT_H
#define PW_CLI_CMD_IMPORT_H

/* The command; argv[0] is its name. Returns the exit status: 0, 1 for failure, 2 for usage. */
int pw_import_command(int argc, char **argv);

#endif
