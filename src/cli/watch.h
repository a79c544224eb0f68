/* `profwrap report --watch DIR`: how fast a running job goes, once a second until it ends. */
#ifndef PW_CLI_WATCH_H
#define PW_CLI_WATCH_H

#include <stddef.h>

/* On a terminal a view that stays in its place, elsewhere one block of lines after the other;
 * `ranks` at most in each. The exit status. */
int pw_cli_watch(const char *dir, size_t ranks);

#endif
