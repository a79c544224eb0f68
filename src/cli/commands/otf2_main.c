/* profwrap-otf2: the program that `profwrap report --format otf2` and `profwrap import` of an OTF2
 * archive execute, with the arguments of these commands. The only one that is linked with OTF2. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/figures/restrict.h"
#include "archive/read.h"
#include "archive/write.h"
#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/libexec.h"
#include "cli/results/clusterpath.h"
#include "core/epochdir.h"
#include "core/h5/h5types.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "rank/run/outdir.h"

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
    pw_cli_directory_of(cluster_file, dir);
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

static int report(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end;
    char problem[PW_EPOCHDIR_PROBLEM], dir[PATH_MAX];
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_REPORT, argc, argv, &end) || end.next >= argc) {
        pw_error("%s", end.next >= argc
                           ? "no run is given: profwrap report --format otf2 -o traces DIR"
                           : options.problem);
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
    pw_confine(pw_cli_run_size(dir), PW_CONFINE_WRITES);
    return write_archive(&options, dir);
}

/* ---- import ---- */

static void tell_import(const struct pw_otf2_taken *taken, const char *dir)
{
    const struct pw_otf2_counts *counts = &taken->counts;
    for (int i = 0; i < PW_OTF2_LACKS; i++)
        if (counts->lacks[i])
            pw_say("left out: %lld %s", (long long)counts->lacks[i],
                   pw_otf2_lack_words((enum pw_otf2_lack)i));
    if (taken->damaged)
        pw_say("%lld locations are damaged; what comes before that is imported",
               (long long)taken->damaged);
    pw_say("imported %lld ranks, %lld events: %lld calls of MPI and %lld ranges; next: profwrap "
           "merge %s",
           (long long)taken->ranks, (long long)counts->events, (long long)counts->calls,
           (long long)counts->ranges, dir);
}

static int import_archive(const struct pw_otf2_wish *wish, int is_trusted)
{
    struct pw_otf2_archive archive;
    struct pw_otf2_taken taken;
    int err = pw_otf2_open(wish, &archive, &taken);
    if (!err)
        err = pw_outdir_prepare(wish->dir, taken.job, is_trusted, taken.problem,
                                sizeof(taken.problem));
    err = err ? err : pw_otf2_take_all(&archive, wish, &taken);
    pw_otf2_close(&archive);
    if (err)
        pw_error("%s", taken.problem);
    else
        tell_import(&taken, wish->dir);
    return err ? 1 : 0;
}

static int import(int argc, char **argv)
{
    struct pw_options options;
    struct pw_options_end end;
    char path[PATH_MAX];
    umask(077); /* only the owner may read rank files */
    pw_options_init(&options);
    if (pw_options_parse(&options, PW_CMD_IMPORT, argc, argv, &end)) {
        pw_error("%s", options.problem);
        return 2;
    }
    const struct pw_otf2_wish wish = {
        .path = path,
        .dir = options.text[PW_OPT_IMPORT_OUTPUT],
        .level = pw_option_compression(&options, PW_OPT_IMPORT_COMPRESS),
    };
    if (!*wish.dir || wish.level < 0 || end.next + 1 != argc) {
        pw_error("an OTF2 archive is imported alone: profwrap import -o DIR traces.otf2");
        return 2;
    }
    if (pw_cli_otf2_archives(argv[end.next], path, sizeof(path)) > 1) {
        pw_error("'%s' has several OTF2 archives: give the .otf2 file of one", argv[end.next]);
        return 2;
    }
    char *slash = strrchr(path, '/'), dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    pw_h5_quiet();
    pw_confine(pw_readlimit_size(dir), PW_CONFINE_WRITES);
    return import_archive(&wish, pw_option_flag(&options, PW_OPT_TRUST_DIRECTORY));
}

int main(int argc, char **argv)
{
    return argc && strcmp(argv[0], "import") == 0 ? import(argc, argv) : report(argc, argv);
}
