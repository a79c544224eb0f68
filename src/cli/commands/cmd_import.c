/* `profwrap import`: makes rank files from traces of other profilers, several ranks at a time. */
#include "cli/commands.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/confine.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "core/text.h"
#include "import/import.h"
#include "import/matchops.h"
#include "import/msprof/msprof.h"
#include "import/ranknames.h"
#include "rank/run/outdir.h"

/* Shared memory of the worker processes: which rank is next, their progress, and their results. */
struct shared {
    _Atomic size_t next;
    _Atomic int64_t bytes; /* bytes of the files that were read */
    struct pw_import_result results[];
};

struct import {
    struct pw_options options;
    struct pw_import_options what;
    struct pw_import_plan plan;
    struct shared *shared;
    size_t shared_size;
    int64_t total_bytes;
    size_t part, parts; /* under mpirun: this process imports part `part` of the ranks */
};

/* ---- one process ---- */

struct reading {
    struct shared *shared;
    int64_t told; /* bytes of this rank that are in shared->bytes */
};

static void add_progress(void *context, int64_t file_bytes)
{
    struct reading *reading = context;
    reading->shared->bytes += file_bytes - reading->told;
    reading->told = file_bytes;
}

static void import_ranks(struct import *import)
{
    struct shared *shared = import->shared;
    for (size_t at; (at = shared->next++) < import->plan.nranks;) {
        struct reading reading = {.shared = shared};
        const struct pw_import_progress progress = {add_progress, &reading};
        if (at % import->parts == import->part)
            pw_import_rank(&import->plan, at, &import->what, &progress, &shared->results[at]);
    }
}

/* ---- all of them ---- */

static void show_progress(const struct import *import, FILE *to)
{
    enum { WIDTH = 30 };
    char bar[WIDTH + 1];
    double share =
        import->total_bytes ? (double)import->shared->bytes / (double)import->total_bytes : 0;
    share = share > 1 ? 1 : share;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < (int)(share * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(to, "\r[%s] %3.0f %% of %zu ranks", bar, 100 * share, import->plan.nranks);
    fflush(to);
}

/* Waits for the workers; shows a progress bar on a terminal. */
static void wait_for(const struct import *import, pid_t *workers, int n)
{
    FILE *to = isatty(STDERR_FILENO) && import->part == 0 ? stderr : NULL;
    const struct timespec pause = {.tv_nsec = 200000000};
    for (int i = 0; i < n; i++) {
        int status;
        while (waitpid(workers[i], &status, to ? WNOHANG : 0) == 0) {
            show_progress(import, to);
            nanosleep(&pause, NULL);
        }
    }
    if (to)
        fprintf(to, "\r\033[K");
}

static int run_workers(struct import *import, int jobs)
{
    enum { MOST_JOBS = 256 };
    pid_t workers[MOST_JOBS];
    int n = 0;
    if (jobs == 1 && !isatty(STDERR_FILENO)) {
        import_ranks(import);
        return 0;
    }
    jobs = jobs > MOST_JOBS ? MOST_JOBS : jobs;
    fflush(NULL);
    for (; n < jobs; n++) {
        workers[n] = fork();
        if (workers[n] < 0)
            break;
        if (workers[n] == 0) {
            import_ranks(import);
            _exit(0);
        }
    }
    if (n == 0)
        return -errno;
    wait_for(import, workers, n);
    return 0;
}

static int count_jobs(const struct import *import)
{
    enum { ONE_PROCESS = 1 << 19 }; /* bytes of files below which more processes take longer */
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t jobs = pw_option_int(&import->options, PW_OPT_IMPORT_JOBS);
    if (jobs == 0)
        jobs = import->parts > 1 || import->total_bytes <= ONE_PROCESS ? 1 : cpus > 0 ? cpus : 1;
    if (jobs > (int64_t)import->plan.nranks)
        jobs = (int64_t)import->plan.nranks;
    return (int)jobs;
}

static int share(struct import *import)
{
    import->shared_size =
        sizeof(*import->shared) + import->plan.nranks * sizeof(import->shared->results[0]);
    import->shared =
        mmap(NULL, import->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (import->shared == MAP_FAILED)
        return -errno;
    for (size_t i = 0; i < import->plan.nfiles; i++)
        import->total_bytes += import->plan.files[i].bytes;
    return 0;
}

/* ---- the command line ---- */

/* Returns 0, or 2 after one printed line. */
static int read_options(struct import *import, struct pw_import_wish *wish)
{
    const struct pw_options *o = &import->options;
    const char *rank = o->text[PW_OPT_IMPORT_RANK];
    char *end = "";
    *wish = (struct pw_import_wish){
        .format = pw_import_format_find(o->text[PW_OPT_IMPORT_FORMAT]),
        .rank = *rank ? strtoll(rank, &end, 10) : -1,
        .rank_pattern = o->text[PW_OPT_IMPORT_RANK_PATTERN],
        .rank_by_pid = pw_option_flag(o, PW_OPT_IMPORT_RANK_BY_PID),
    };
    char why[128] = "";
    if (*wish->rank_pattern)
        pw_rank_pattern_check(wish->rank_pattern, why, sizeof(why));
    import->what = (struct pw_import_options){
        .dir = o->text[PW_OPT_IMPORT_OUTPUT],
        .keep_cuda_calls = pw_option_flag(o, PW_OPT_IMPORT_CUDA_CALLS),
        .level = pw_option_compression(o, PW_OPT_IMPORT_COMPRESS),
    };
    if (!*import->what.dir)
        pw_error("no directory for the rank files is given: profwrap import -o DIR FILE...");
    else if (*rank && (*end || wish->rank < 0 || wish->rank >= 1 << 24))
        pw_error("--rank is '%.64s', but takes a number of a rank", rank);
    else if (why[0])
        pw_error("--rank-pattern '%.64s': %s", wish->rank_pattern, why);
    else if (import->what.level < 0)
        pw_error("--compress is '%.64s', but takes none or deflate:1 to deflate:9",
                 o->text[PW_OPT_IMPORT_COMPRESS]);
    else
        return 0;
    return 2;
}

/* Matches operations that the traces do not identify, if this process has all ranks. */
static int infer(const struct import *import)
{
    const struct pw_import_result *results = import->shared->results;
    struct pw_inferred found;
    int64_t groups = 0;
    for (size_t i = 0; i < import->plan.nranks; i++) {
        if (!results[i].done || results[i].err)
            return 0;
        groups += results[i].counts.inferred_groups;
    }
    if (groups == 0 || import->plan.nranks < 2)
        return 0;
    int err = pw_infer(&import->plan, results, import->what.dir, &found);
    if (err) {
        pw_error("the communicators cannot be inferred: %s", pw_readlimit_error(err));
        return 1;
    }
    pw_say("inferred: %lld operations were matched with other ranks' by step, size and order%s",
           (long long)found.matched, found.impossible ? "" : ", and none against its time");
    if (found.impossible)
        pw_say("inferred: %lld similar operations were at different times and are not matched",
               (long long)found.impossible);
    return 0;
}

/* Reports ranks that were not imported because a worker was killed: the rank that it imported, and
 * all later ones when no worker was left. Removes its incomplete files. */
static void tell_unfinished(struct import *import)
{
    char part[4200];
    for (size_t at = import->part; at < import->plan.nranks; at += import->parts) {
        struct pw_import_result *result = &import->shared->results[at];
        if (result->done)
            continue;
        result->done = 1;
        result->err = -ECANCELED;
        result->rank = import->plan.files[import->plan.first[at]].head.rank;
        snprintf(part, sizeof(part), "%s/rank-%05lld.h5.part", import->what.dir,
                 (long long)result->rank);
        unlink(part);
        snprintf(result->problem, sizeof(result->problem),
                 "%.200s was not read to its end: the process that read it was killed; with fewer "
                 "at once (--jobs 1) there is more memory for each",
                 import->plan.files[import->plan.first[at]].path);
    }
}

/* Prints the results of the ranks that this process imported; with `whole`, also those of the whole
 * job. Returns 1 when one of its ranks has no file, else 0. */
static int print_results(const struct pw_import_plan *plan, const struct pw_import_result *results,
                         int whole);

static int import_plan(struct import *import)
{
    char problem[512];
    int err = pw_outdir_prepare(import->what.dir, import->plan.job,
                                pw_option_flag(&import->options, PW_OPT_TRUST_DIRECTORY), problem,
                                sizeof(problem));
    if (err) {
        pw_error("%s", problem);
        return 1;
    }
    err = share(import);
    err = err ? err : run_workers(import, count_jobs(import));
    if (err) {
        pw_error("the traces cannot be read: %s", pw_readlimit_error(err));
        return 1;
    }
    tell_unfinished(import);
    int failed = print_results(&import->plan, import->shared->results, import->part == 0);
    failed |= infer(import);
    munmap(import->shared, import->shared_size);
    return failed;
}

/* Lets freed memory be used again, up to a few MiB: the kernel takes longer to give pages to a
 * process than most of the import takes to use them. */
static void keep_memory(void)
{
    enum { MOST = 4 << 20, STEP = 1 << 20 };
    mallopt(M_MMAP_THRESHOLD, MOST);
    mallopt(M_TRIM_THRESHOLD, 2 * MOST);
    mallopt(M_TOP_PAD, STEP);
}

int pw_import_command(int argc, char **argv)
{
    static struct import import;
    struct pw_import_wish wish;
    struct pw_identity id;
    char problem[512];
    struct pw_options_end end;
    import = (struct import){0};
    umask(077); /* only the owner may read rank files */
    pw_options_init(&import.options);
    int err = pw_options_parse(&import.options, PW_CMD_IMPORT, argc, argv, &end);
    if (!err && end.help) {
        printf("Usage: profwrap import [OPTIONS] -o DIR FILE|DIR...\n\n");
        pw_options_print_help(stdout, PW_CMD_IMPORT);
        return 0;
    }
    if (err || end.next >= argc) {
        pw_error("%s", err ? import.options.problem
                           : "usage: profwrap import [OPTIONS] -o DIR FILE|DIR...");
        return 2;
    }
    if (read_options(&import, &wish))
        return 2;
    pw_identity_find(&id, &(struct pw_identity_hints){.root = ""});
    import.part = (size_t)id.rank;
    import.parts = (size_t)id.size;
    pw_h5_quiet();
    keep_memory();
    uint64_t bytes = 0;
    for (int i = end.next; i < argc; i++)
        bytes += pw_readlimit_size(argv[i]);
    pw_confine(bytes, PW_CONFINE_WRITES | PW_CONFINE_PROCESSES);
    wish.paths = argv + end.next;
    wish.npaths = (size_t)(argc - end.next);
    err = pw_import_plan_make(&wish, &import.plan, problem, sizeof(problem));
    if (err) {
        pw_error("%s", problem);
        return 1;
    }
    int status = import_plan(&import);
    pw_import_plan_fini(&import.plan);
    return status;
}

/* Prints what was imported, and what was omitted and why. */

static void add_names(char *list, size_t size, const char *names)
{
    for (const char *at = names; *at; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ",");
        pw_names_list(list, size, at, length);
        at += length;
    }
}

static void add_counts(struct pw_import_counts *sum, const struct pw_import_counts *one)
{
    sum->bytes += one->bytes;
    sum->events += one->events;
    sum->taken += one->taken;
    for (int i = 0; i < PW_LIBRARIES; i++)
        sum->operations[i] += one->operations[i];
    sum->inferred_groups += one->inferred_groups;
    sum->lost += one->lost;
    sum->before_launch += one->before_launch;
    if (one->most_overlap_ns > sum->most_overlap_ns)
        sum->most_overlap_ns = one->most_overlap_ns;
    add_names(sum->names_omitted, sizeof(sum->names_omitted), one->names_omitted);
    add_names(sum->files_omitted, sizeof(sum->files_omitted), one->files_omitted);
    for (int i = 0; i < PW_OMISSIONS; i++)
        sum->omitted[i] += one->omitted[i];
}

static void print_omitted(const struct pw_import_counts *sum)
{
    char time[32], overlap[48];
    snprintf(overlap, sizeof(overlap), ", by up to %s",
             pw_text_ns(time, sizeof(time), sum->most_overlap_ns));
    if (sum->before_launch)
        pw_say("%lld activities of devices begin before their launch: the trace's clocks of host "
               "and device differ",
               (long long)sum->before_launch);
    for (int i = 1; i < PW_OMISSIONS; i++)
        if (sum->omitted[i])
            pw_say("left out: %lld %s%s", (long long)sum->omitted[i],
                   pw_omission_words((enum pw_omission)i), i == PW_OMIT_TOO_LONG ? overlap : "");
    if (sum->files_omitted[0])
        pw_say("not read: %s in the profiles' directories", sum->files_omitted);
    if (sum->names_omitted[0])
        pw_say("left out: the layers and tasks are %s", sum->names_omitted);
}

static void print_notes(const struct pw_import_plan *plan)
{
    const size_t most = sizeof(plan->notes) / sizeof(plan->notes[0]);
    for (size_t i = 0; i < plan->nnotes && i < most; i++)
        pw_say("%s", plan->notes[i]);
    if (plan->nnotes > most)
        pw_say("and %zu more of this kind", plan->nnotes - most);
}

/* Prints ranks that recorded other steps than the first rank that has any, because their
 * collectives have other numbers. */
static void print_steps(const struct pw_import_plan *plan, const struct pw_import_result *results)
{
    const struct pw_import_result *first = NULL;
    for (size_t i = 0; i < plan->nranks; i++) {
        const struct pw_import_result *r = &results[i];
        if (!r->done || r->err || r->counts.first_step < 0)
            continue;
        if (first && r->counts.first_step != first->counts.first_step) {
            pw_say("rank %lld recorded from step %lld on, but rank %lld from step %lld: their "
                   "collectives are matched in order, which is then wrong",
                   (long long)r->rank, (long long)r->counts.first_step, (long long)first->rank,
                   (long long)first->counts.first_step);
            return;
        }
        first = first ? first : r;
    }
}

/* Prints whether what msprof-analyze computed agrees with the profiles beside it. */
static void print_compared(const struct pw_import_plan *plan,
                           const struct pw_import_result *results)
{
    struct pw_msprof_compared sum = {0};
    char line[900];
    if (plan->nfiles && plan->files[0].format == &pw_import_msprof)
        return;
    for (size_t i = 0; i < plan->nranks; i++)
        if (results[i].done && !results[i].err)
            pw_msprof_compare_add(&sum, &results[i].compared);
    pw_say("%s: %s", plan->msprof->directory, pw_msprof_compare_say(&sum, line, sizeof(line)));
}

/* Prints which file was taken for which rank, of ranks that the files do not say. */
static void print_ranks(const struct pw_import_plan *plan)
{
    enum { SHOWN = 64 };
    const char *rule = pw_rank_names_rule(plan);
    size_t shown = 0, more = 0;
    if (!rule)
        return;
    pw_say("ranks by %s:", rule);
    for (size_t i = 0; i < plan->nfiles; i++) {
        const struct pw_import_file *file = &plan->files[i];
        const char *slash = strrchr(file->path, '/');
        if (file->rank_source == PW_RANK_TOLD)
            continue;
        if (shown == SHOWN) {
            more++;
            continue;
        }
        pw_say("    rank %-5lld %s", (long long)file->head.rank, slash ? slash + 1 : file->path);
        shown++;
    }
    if (more)
        pw_say("    and %zu more files", more);
}

static void print_job(const struct pw_import_plan *plan)
{
    char missing[256];
    int64_t n = pw_import_plan_missing(plan, missing, sizeof(missing));
    if (n)
        pw_say("missing: the traces of %lld of %lld ranks (%s)", (long long)n,
               (long long)plan->world_size, missing);
}

static int print_rank(const struct pw_import_result *r)
{
    if (r->err) {
        pw_error("%s", r->problem);
        return 1;
    }
    if (r->problem[0])
        pw_say("rank %lld: %s%s", (long long)r->rank, r->problem,
               r->counts.cut_files ? "; what comes before it is imported" : "");
    if (r->counts.first_malformed >= 0)
        pw_say("rank %lld: %lld events are no JSON objects, the first at byte %lld",
               (long long)r->rank, (long long)r->counts.omitted[PW_OMIT_MALFORMED],
               (long long)r->counts.first_malformed);
    if (r->counts.unfinished)
        pw_say(
            "rank %lld: %lld operation%s had not ended when it was written, the first of them %s",
            (long long)r->rank, (long long)r->counts.unfinished,
            r->counts.unfinished == 1 ? "" : "s", r->counts.first_unfinished);
    if (r->counts.cut_groups)
        pw_say("rank %lld: the last operations of %lld process group%s are not in its dump, which "
               "says that it began %s",
               (long long)r->rank, (long long)r->counts.cut_groups,
               r->counts.cut_groups == 1 ? "" : "s", r->counts.first_cut);
    return 0;
}

/* Writes "20 of them NCCL operations, and 3 of Gloo", for the libraries that have operations.
 * Returns `out`. */
static const char *say_operations(const struct pw_import_counts *sum, char *out, size_t size)
{
    static const char *const names[PW_LIBRARIES] = {"NCCL", "Gloo", "HCCL", "oneCCL",
                                                    "kernels of communication"};
    size_t used = 0;
    for (int i = 0; i < PW_LIBRARIES; i++)
        if (sum->operations[i] && used < size)
            used += (size_t)snprintf(out + used, size - used,
                                     used                   ? ", and %lld of %s"
                                     : i == PW_LIBRARY_NCCL ? "%lld of them %s operations"
                                                            : "%lld of them operations of %s",
                                     (long long)sum->operations[i], names[i]);
    if (!used)
        snprintf(out, size, "0 of them operations of communication");
    return out;
}

static int print_results(const struct pw_import_plan *plan, const struct pw_import_result *results,
                         int whole)
{
    struct pw_import_counts sum = {0};
    int failed = 0;
    long long ranks = 0;
    char bytes[32], operations[192];
    for (size_t i = 0; i < plan->nranks; i++) {
        if (!results[i].done) /* of another process, or its worker died */
            continue;
        failed |= print_rank(&results[i]);
        ranks += !results[i].err;
        add_counts(&sum, &results[i].counts);
    }
    pw_say("%lld rank%s: %lld events (%s of JSON), %lld imported, %s", ranks, ranks == 1 ? "" : "s",
           (long long)sum.events, pw_text_bytes(bytes, sizeof(bytes), sum.bytes),
           (long long)sum.taken, say_operations(&sum, operations, sizeof(operations)));
    if (whole)
        print_ranks(plan);
    print_omitted(&sum);
    if (whole)
        print_notes(plan);
    if (sum.lost)
        pw_say("lost: %lld operations that were overwritten before they were written, according to "
               "the traces",
               (long long)sum.lost);
    if (sum.inferred_groups)
        pw_say("inferred: %lld communicators, because the traces do not have their ranks (assumed "
               "and named by the ranks that were imported)",
               (long long)sum.inferred_groups);
    if (whole && plan->msprof)
        print_compared(plan, results);
    print_steps(plan, results);
    if (whole)
        print_job(plan);
    return failed || ranks == 0;
}
