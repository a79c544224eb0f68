/* `profwrap sweep`: removes the user's shared memory that no process uses any more. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "core/log.h"
#include "rank/run/sweep.h"

int pw_cli_sweep(int argc, char **argv)
{
    if (argc != 1) {
        int help = argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);
        if (help)
            printf("Usage: profwrap sweep\n\nRemoves shared memory of yours that no process of a "
                   "run uses any more.\nWhat 'profwrap recover' could take from it is lost.\n");
        else
            pw_error("usage: profwrap sweep");
        return help ? 0 : 2;
    }
    int removed = pw_sweep_segments();
    if (removed < 0) {
        pw_error("cannot look at shared memory: %s", strerror(-removed));
        return 1;
    }
    printf("%d removed\n", removed);
    return 0;
}
