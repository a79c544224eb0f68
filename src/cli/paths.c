/* Where this program and its private files are, for run and merge; see commands.h. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"

int pw_cli_self(char *path, int size)
{
    ssize_t n = readlink("/proc/self/exe", path, (size_t)size - 1);
    if (n <= 0)
        return -errno;
    path[n] = '\0';
    return 0;
}

int pw_cli_private_dir(char *path, int size)
{
    char self[4096];
    int err = pw_cli_self(self, sizeof(self));
    if (!err &&
        snprintf(path, (size_t)size, "%s/%s", dirname(self), PROFWRAP_PRIVATE_FROM_BIN) >= size)
        err = -ENAMETOOLONG;
    return err;
}
