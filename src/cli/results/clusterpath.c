/* Finds and loads a cluster file, or prints why it cannot; see clusterpath.h. */
#include "cli/results/clusterpath.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/h5/clusterload.h"
#include "core/log.h"
#include "core/readlimit.h"
#include "report/content/runsummary.h"

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool has_rank_files(const char *dir)
{
    DIR *stream = opendir(dir);
    bool found = false;
    for (struct dirent *entry; stream && !found && (entry = readdir(stream));) {
        size_t length = strlen(entry->d_name);
        found = strncmp(entry->d_name, "rank-", 5) == 0 && length > 8 &&
                strcmp(entry->d_name + length - 3, ".h5") == 0;
    }
    if (stream)
        closedir(stream);
    return found;
}

static void explain_load(const char *given, const char *path, int err, char *problem, size_t size)
{
    if (err == -ENOENT && strcmp(given, path) == 0)
        snprintf(problem, size,
                 "there is no file or directory '%s': give the output directory of a run (-o)",
                 given);
    else if (err == -ENOENT && has_rank_files(given))
        snprintf(problem, size,
                 "'%s' has rank files but no cluster.h5: run 'profwrap merge %s' first", given,
                 given);
    else if (err == -ENOENT)
        snprintf(
            problem, size,
            "'%s' holds no results of profwrap, neither cluster.h5 nor rank files: give the output "
            "directory of a run (-o)",
            given);
    else if (err == -EINVAL)
        snprintf(
            problem, size,
            "'%s' is no cluster file of profwrap, or is damaged: 'profwrap merge DIR' makes one of "
            "the rank files",
            path);
    else if (err == -EPROTO)
        snprintf(problem, size, "'%s' was written by a newer profwrap: read it with that version",
                 path);
    else
        snprintf(problem, size, "cannot read '%s': %s", path, pw_readlimit_remedy(err));
}

uint64_t pw_cli_cluster_size(const char *given)
{
    char path[PATH_MAX];
    int n = snprintf(path, PATH_MAX, "%s%s", given, is_directory(given) ? "/cluster.h5" : "");
    return n < PATH_MAX ? pw_readlimit_size(path) : 0;
}

void pw_cli_directory_of(const char *path, char dir[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    snprintf(dir, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

uint64_t pw_cli_run_size(const char *given)
{
    char dir[PATH_MAX];
    pw_cli_directory_of(given, dir);
    return pw_readlimit_size(is_directory(given) ? given : dir);
}

static int load_for_summary(const char *path, struct pw_cluster **out)
{
    int err = pw_cluster_load_rows(path, out);
    if (err || !pw_runsummary_needs_cells(*out))
        return err;
    err = pw_cluster_load_cells(path, *out);
    if (err)
        pw_cluster_destroy(*out);
    return err;
}

static int open_by(int (*load)(const char *path, struct pw_cluster **out), const char *given,
                   char path[PATH_MAX], struct pw_cluster **out, char problem[PW_CLI_PROBLEM])
{
    int n = snprintf(path, PATH_MAX, "%s%s", given, is_directory(given) ? "/cluster.h5" : "");
    if (n >= PATH_MAX) {
        snprintf(problem, PW_CLI_PROBLEM,
                 "the name of the directory is too long: '%.60s…'; choose a shorter path", given);
        return -ENAMETOOLONG;
    }
    int err = load(path, out);
    if (err)
        explain_load(given, path, err, problem, PW_CLI_PROBLEM);
    return err;
}

int pw_cli_open_cluster(const char *given, char path[PATH_MAX], struct pw_cluster **out,
                        char problem[PW_CLI_PROBLEM])
{
    return open_by(pw_cluster_load, given, path, out, problem);
}

static int load_by(int (*load)(const char *path, struct pw_cluster **out), const char *given,
                   char path[PATH_MAX], struct pw_cluster **out)
{
    char problem[PW_CLI_PROBLEM];
    int err = open_by(load, given, path, out, problem);
    if (err)
        pw_error("%s", problem);
    return err;
}

int pw_cli_load_cluster(const char *given, char path[PATH_MAX], struct pw_cluster **out)
{
    return load_by(pw_cluster_load, given, path, out);
}

int pw_cli_load_for_summary(const char *given, char path[PATH_MAX], struct pw_cluster **out)
{
    return load_by(load_for_summary, given, path, out);
}
