/* `profwrap merge`: becomes the merge helper, the one program here that is linked with MPI. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/log.h"

int pw_cli_merge(int argc, char **argv)
{
    char dir[4000], path[4096];
    (void)argc;
    if (pw_cli_private_dir(dir, sizeof(dir)) == 0) {
        snprintf(path, sizeof(path), "%s/profwrap-merge", dir);
        execv(path, argv);
        pw_error("cannot run %s: %s", path, strerror(errno));
    }
    return 1;
}
