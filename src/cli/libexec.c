/* Executes the commands that are separate programs under libexec: the merge, which is linked with
 * MPI when it works in parallel, and the import, the two servers and what handles OTF2, whose
 * libraries `profwrap run` should not load; and the simulator (sim/), which is no part of the
 * profiler. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/libexec.h"
#include "core/log.h"
#include "core/options.h"
#include "core/remedy.h"
#include "run/paths.h"

static int become(const char *program, char *const *argv)
{
    char dir[4000], path[4096];
    if (pw_cli_private_dir(dir, sizeof(dir)) == 0) {
        snprintf(path, sizeof(path), "%s/%s", dir, program);
        execv(path, argv);
        pw_error("cannot run %s: %s", path, pw_remedy(errno));
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

int pw_cli_serve_report(const char *dir, char *const *argv)
{
    static const char name[] = "profwrap-serve";
    if (!is_installed(name)) {
        pw_error(
            "this profwrap was built without libmicrohttpd (Debian: libmicrohttpd-dev), and "
            "cannot serve the report; 'profwrap report --format html -o report.html %s' writes "
            "it, with the timelines of a few steps",
            dir);
        return 1;
    }
    return become(name, argv);
}

int pw_cli_otf2(char *const *argv)
{
    static const char name[] = "profwrap-otf2";
    if (!is_installed(name)) {
        pw_error("this profwrap was built without OTF2 (Debian: libopen-trace-format2-dev), and "
                 "neither writes nor reads its archives: build it with that package");
        return 1;
    }
    return become(name, argv);
}

int pw_cli_otf2_archives(const char *given, char *path, size_t size)
{
    const char *dot = strrchr(given, '.');
    DIR *directory = opendir(given);
    int n = 0;
    snprintf(path, size, "%s", given);
    if (!directory)
        return dot && strcmp(dot, ".otf2") == 0;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".otf2") == 0 && n++ == 0)
            snprintf(path, size, "%s/%s", given, entry->d_name);
    }
    closedir(directory);
    return n;
}

int pw_cli_sim(int argc, char **argv)
{
    (void)argc;
    return become("profwrap-sim", argv);
}

int pw_cli_import(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end = {0};
    char path[PATH_MAX];
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_IMPORT, argc, argv, &end) == 0 && !end.help)
        for (int i = end.next; i < argc; i++)
            if (pw_cli_otf2_archives(argv[i], path, sizeof(path)))
                return pw_cli_otf2(argv);
    return become("profwrap-import", argv);
}
