/* Executes the commands that are separate programs under libexec: the merge, which is linked with
 * MPI, and the import and the metrics server, whose libraries `profwrap run` should not load. */
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
    /* The casts are safe: execv() does not change the strings. */
    char *const argv[] = {name, (char *)(uintptr_t)dir, (char *)(uintptr_t)listen,
                          (char *)(uintptr_t)token_file, NULL};
    return become(name, argv);
}

int pw_cli_import(int argc, char **argv)
{
    (void)argc;
    return become("profwrap-import", argv);
}
