/* The page of the last hang that a watchdog has reported in a directory: hang.txt, hang-2.txt, ...
 * Called by `profwrap report --section hang`. It is there also when all processes of the job were
 * killed. Tool code: only reads; never follows a link. */
#ifndef PW_CLI_HANGPAGE_H
#define PW_CLI_HANGPAGE_H

#include <stdio.h>

/* Prints the page of the directory of `given`, a directory or a cluster file. Control characters
 * become '?'. Returns 1; 0 when there is none. */
int pw_cli_hangpage_print(const char *given, FILE *out);

#endif
