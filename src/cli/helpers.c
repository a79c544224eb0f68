/* The commands that are programs of their own, under libexec: the merge, which is linked with MPI,
 * and the import, whose libraries every collector would have to load. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/log.h"

static int become(const char *program, char **argv)
{
    char dir[4000], path[4096];
    if (pw_cli_private_dir(dir, sizeof(dir)) == 0) {
        snprintf(path, sizeof(path), "%s/%s", dir, program);
        execv(path, argv);
        pw_error("cannot run %s: %s", path, strerror(errno));
    }
    return 1;
}

int pw_cli_merge(int argc, char **argv)
{
    (void)argc;
    return become("profwrap-merge", argv);
}

int pw_cli_import(int argc, char **argv)
{
    (void)argc;
    return become("profwrap-import", argv);
}
