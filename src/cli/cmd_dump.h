/* What `profwrap dump` prints of a file; the command itself is in commands.h. */
#ifndef PW_CLI_CMD_DUMP_H
#define PW_CLI_CMD_DUMP_H

/* Prints the file on standard output; says on standard error what is wrong with it. The exit
 * status: 0 or 1. */
int pw_cli_dump_file(const char *path);

#endif
