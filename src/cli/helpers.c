/* The commands that are programs of their own, under libexec: the merge, which is linked with MPI,
 * the import and the server of metrics, whose libraries every collector would have to load. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/log.h"
#include "run/paths.h"

static int become(const char *program, char *const *argv)
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

int pw_cli_serve_metrics(const char *dir, const char *listen, const char *token_file)
{
    char private_dir[4000], path[4096], name[] = "profwrap-metrics";
    if (pw_cli_private_dir(private_dir, sizeof(private_dir)) == 0) {
        snprintf(path, sizeof(path), "%s/%s", private_dir, name);
        if (access(path, F_OK)) {
            pw_error("this profwrap was built without libmicrohttpd (Debian: libmicrohttpd-dev), "
                     "and cannot serve metrics; 'profwrap ctl metrics %s' prints them",
                     dir);
            return 1;
        }
    }
    /* execv() changes none of them. */
    char *const argv[] = {name, (char *)(uintptr_t)dir, (char *)(uintptr_t)listen,
                          (char *)(uintptr_t)token_file, NULL};
    return become(name, argv);
}

int pw_cli_import(int argc, char **argv)
{
    (void)argc;
    return become("profwrap-import", argv);
}
