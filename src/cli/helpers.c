/* Executes the commands that are separate programs under libexec: the merge, which is linked with
 * MPI when it works in parallel, and the import, the metrics server and what handles OTF2, whose
 * libraries `profwrap run` should not load. */
#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/options.h"
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

/* Whether a launcher may have started other processes beside this one. */
static int has_launcher(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMIX_RANK") || getenv("PMI_RANK");
}

static int is_installed(const char *program)
{
    char dir[4000], path[4096];
    if (pw_cli_private_dir(dir, sizeof(dir)))
        return 0;
    snprintf(path, sizeof(path), "%s/%s", dir, program);
    return access(path, X_OK) == 0;
}

static const char parallel_merge[] = "profwrap-merge", merge_alone[] = "profwrap-merge-alone";

int pw_cli_merges_in_parallel(void)
{
    return is_installed(parallel_merge);
}

int pw_cli_merge(int argc, char **argv)
{
    (void)argc;
    const char *first = has_launcher() ? parallel_merge : merge_alone;
    const char *second = has_launcher() ? merge_alone : parallel_merge;
    return become(is_installed(first) ? first : second, argv);
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

int pw_cli_otf2(char *const *argv)
{
    static const char name[] = "profwrap-otf2";
    if (!is_installed(name)) {
        pw_error("this profwrap was built without OTF2 (Debian: libopen-trace-format2-dev), and "
                 "neither writes nor reads its archives");
        return 1;
    }
    return become(name, argv);
}

/* Whether the name is that of an OTF2 archive's first file, or of a directory that has one. */
static int is_archive(const char *name)
{
    char pattern[4200];
    glob_t found = {0};
    const char *dot = strrchr(name, '.');
    if (dot && strcmp(dot, ".otf2") == 0)
        return 1;
    snprintf(pattern, sizeof(pattern), "%s/*.otf2", name);
    const int is_there = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

int pw_cli_import(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end = {0};
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_IMPORT, argc, argv, &end) == 0 && !end.help)
        for (int i = end.next; i < argc; i++)
            if (is_archive(argv[i]))
                return pw_cli_otf2(argv);
    return become("profwrap-import", argv);
}
