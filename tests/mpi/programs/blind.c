/* blind MODE GO: goes on until the file GO is there, so that a test can look at it before.
 *   direct    calls MPI as it is linked: who starts it takes the probe away
 *   linked    is linked with MPI and calls nothing of it */
#include <stdio.h>
#include <string.h>

#include "blindcalls.h"

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    if (strcmp(mode, "direct") == 0)
        return blind_calls(argv[2]);
    if (strcmp(mode, "linked") == 0)
        return blind_wait(argv[2]);
    fprintf(stderr, "usage: blind direct|linked GO\n");
    return 2;
}
