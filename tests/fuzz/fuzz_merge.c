/* `profwrap merge` of a directory with the input as a rank file, alone or beside three valid files
 * of a run. If the merge makes a file, reports of it must be possible. Runs of valid files come
 * first. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/aggregate.h"
#include "core/h5/clusterload.h"
#include "fuzz.h"
#include "report/report.h"

enum { GOOD = 4, RUNS = 3 };

/* Plain messages; unequal roles and amounts of work, samples of /proc, and a host that froze; and a
 * slow rank in a run that is too short for bins. */
static const char *const runs[RUNS] = {"halo", "frozen", "short"};

static void put_run(const char *run)
{
    char path[FUZZ_PATH], name[64], from[64];
    size_t size;
    mkdir(fuzz_path(path, run), 0700);
    for (int rank = 0; rank < GOOD; rank++) {
        snprintf(name, sizeof(name), "%s/rank-%05d.h5", run, rank);
        snprintf(from, sizeof(from), "rank/%s-%d", run, rank);
        fuzz_put_corpus(name, from, &size);
    }
}

static void check_merged(const char *path)
{
    const struct pw_report_options all = {0};
    struct pw_cluster *cluster;
    FILE *out = fopen("/dev/null", "w");
    if (!out || pw_cluster_load(path, &cluster) || pw_report_text(out, cluster, &all) ||
        pw_report_json(out, cluster, &all) || pw_report_csv(out, cluster, &all) ||
        pw_report_folded(out, cluster, &all)) {
        fprintf(stderr, "fuzz: what was merged cannot be reported on\n");
        abort();
    }
    pw_cluster_destroy(cluster);
    fclose(out);
}

static void merge(const char *dir)
{
    char output[FUZZ_PATH];
    fuzz_path(output, "cluster.h5");
    fuzz_begin();
    const struct pw_merge_options how = {.quiet = 1, .wait_s = 600};
    int status = pw_aggregate(PW_EX_WORLD, dir, output, &how) ? 1 : 0;
    fuzz_judge(status);
    if (status == 0)
        check_merged(output);
    unlink(output);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[FUZZ_PATH];
    (void)argc, (void)argv;
    mkdir(fuzz_path(path, "alone"), 0700);
    for (int i = 0; i < RUNS; i++) {
        put_run(runs[i]);
        merge(fuzz_path(path, runs[i]));
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t which = size % (RUNS + 1);
    const char *run = which < RUNS ? runs[which] : "alone";
    char path[FUZZ_PATH], dir[FUZZ_PATH], name[64];
    snprintf(name, sizeof(name), "%s/rank-00003.h5", run);
    fuzz_put(path, name, data, size);
    merge(fuzz_path(dir, run));
    return 0;
}
