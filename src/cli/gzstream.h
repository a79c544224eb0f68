/* A stream that compresses what is written to it. */
#ifndef PW_CLI_GZSTREAM_H
#define PW_CLI_GZSTREAM_H

#include <stdio.h>

/* A stream whose gzip'ed bytes go to `fd`, which it closes. NULL and errno when it cannot be made;
 * what cannot be written shows by its error flag, or when it is closed. */
FILE *pw_gzstream_open(int fd);

#endif
