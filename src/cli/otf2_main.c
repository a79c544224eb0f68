/* profwrap-otf2: the program that `profwrap report --format otf2` executes, with the arguments of
 * that command. The only one that is linked with OTF2. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/write.h"
#include "cli/clusterpath.h"
#include "cli/commands.h"
#include "cli/confine.h"
#include "core/epochdir.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "report/figures/restrict.h"

static void tell(const struct pw_otf2_result *result, const char *archive)
{
    if (result->unread)
        pw_say("%d rank files cannot be read, or not to their end", result->unread);
    if (result->left_out)
        pw_say("left out: %lld ranges of no thread, and rows with impossible times",
               (long long)result->left_out);
    if (result->shortened)
        pw_say("shortened: %lld ranges or calls that others overlap, as those of an archive must "
               "nest",
               (long long)result->shortened);
    pw_say("wrote %s/traces.otf2: %lld events of %d ranks in %lld locations", archive,
           (long long)result->events, result->ranks, (long long)result->locations);
}

static int write_archive(const struct pw_options *options, const char *given)
{
    char cluster_file[PATH_MAX], dir[PATH_MAX];
    struct pw_cluster *cluster;
    struct pw_otf2_result result;
    if (pw_cli_load_cluster(given, cluster_file, &cluster))
        return 1;
    const char *steps = options->text[PW_OPT_STEPS];
    char problem[256] = "out of memory";
    if (steps[0] && pw_cluster_restrict(cluster, steps, problem, sizeof(problem))) {
        pw_error("%s", problem);
        pw_cluster_destroy(cluster);
        return 2;
    }
    const char *slash = strrchr(cluster_file, '/');
    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - cluster_file) : 1,
             slash ? cluster_file : ".");
    const struct pw_otf2_options wanted = {
        .dir = dir,
        .cluster_file = cluster_file,
        .archive = options->text[PW_OPT_REPORT_OUTPUT],
        .ranks = options->text[PW_OPT_RANKS],
        .only_steps = steps[0] != '\0',
    };
    const int err = pw_otf2_write(cluster, &wanted, &result);
    pw_cluster_destroy(cluster);
    if (err)
        pw_error("%s", result.problem[0] ? result.problem : pw_readlimit_error(err));
    else
        tell(&result, wanted.archive);
    return err ? 1 : 0;
}

/* Limits this process by the size of the rank files. */
static void confine(const char *given)
{
    char dir[PATH_MAX];
    struct stat about;
    const char *slash = strrchr(given, '/');
    const int is_dir = stat(given, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - given) : 1, slash ? given : ".");
    pw_confine(pw_readlimit_size(is_dir ? given : dir), PW_CONFINE_WRITES);
}

static int report(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end;
    char problem[PW_EPOCHDIR_PROBLEM], dir[PATH_MAX];
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_REPORT, argc, argv, &end) || end.next >= argc) {
        pw_error("%s", end.next >= argc ? "no run is given" : options.problem);
        return 2;
    }
    if (!options.text[PW_OPT_REPORT_OUTPUT][0]) {
        pw_error("an OTF2 archive is a directory: give its name with -o, such as -o traces");
        return 2;
    }
    if (pw_epochdir_choose(argv[end.next], options.text[PW_OPT_EPOCH], dir, sizeof(dir), problem)) {
        pw_error("%s", problem);
        return 2;
    }
    pw_h5_watch_install();
    confine(dir);
    return write_archive(&options, dir);
}

int main(int argc, char **argv)
{
    return report(argc, argv);
}
