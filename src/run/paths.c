/* Where this program and its private files are, for run, merge and report; see paths.h. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <unistd.h>

#include "run/paths.h"

int pw_cli_self(char *path, int size)
{
    ssize_t n = readlink("/proc/self/exe", path, (size_t)size - 1);
    if (n <= 0)
        return -errno;
    path[n] = '\0';
    return 0;
}

/* Makes the path of `relative`, which is relative to the directory of the running program. */
static int beside_program(char *path, int size, const char *relative)
{
    char self[4096];
    int err = pw_cli_self(self, sizeof(self));
    if (!err && snprintf(path, (size_t)size, "%s/%s", dirname(self), relative) >= size)
        err = -ENAMETOOLONG;
    return err;
}

int pw_cli_private_dir(char *path, int size)
{
    return beside_program(path, size, PROFWRAP_PRIVATE_FROM_BIN);
}

int pw_cli_page_dir(char *path, int size)
{
    int err = beside_program(path, size, PROFWRAP_PAGE_FROM_BIN);
    return err || access(path, F_OK) == 0 ? err
                                          : beside_program(path, size, PROFWRAP_PAGE_FROM_PRIVATE);
}

int pw_cli_python_hook_dir(char *path, int size)
{
    static const char dir[] = PROFWRAP_PYTHON_FROM_BIN "/profwrap/_site";
    if (dir[0] != '/')
        return beside_program(path, size, dir);
    return snprintf(path, (size_t)size, "%s", dir) < size ? 0 : -ENAMETOOLONG;
}
