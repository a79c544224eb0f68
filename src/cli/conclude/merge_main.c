/* The programs that `profwrap merge` executes: profwrap-merge, the only one that is linked with
 * MPI, and profwrap-merge-alone, the same without MPI, of one process (aggregate/exchange). */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aggregate/aggregate.h"
#include "aggregate/exchange/exchange.h"
#include "aggregate/input/progress.h"
#include "cli/conclude/conclude.h"
#include "cli/confine.h"
#include "core/epochdir.h"
#include "core/h5/h5types.h"
#include "core/h5/h5watch.h"
#include "core/log.h"
#include "core/options.h"
#include "core/readlimit.h"
#include "core/safefile.h"

static int read_flops(struct pw_options *o, struct pw_flops_given *given)
{
    given->per_step = pw_option_number(o, PW_OPT_MERGE_STEP_FLOPS);
    given->peak = pw_option_number(o, PW_OPT_MERGE_PEAK_FLOPS);
    snprintf(given->type, sizeof(given->type), "%s", o->text[PW_OPT_MERGE_FLOPS_TYPE]);
    if (given->per_step < 0)
        return pw_option_refuse(o, PW_OPT_MERGE_STEP_FLOPS, "a number above 0, such as 4.2e15");
    if (given->peak < 0)
        return pw_option_refuse(o, PW_OPT_MERGE_PEAK_FLOPS, "a number above 0, such as 989e12");
    return 0;
}

/* Takes the name from the option, or else from the variable of MindInsight's users. */
static int read_point(struct pw_options *o, enum pw_option option, const char *variable, char *to,
                      size_t size)
{
    const char *name = o->text[option], *given = getenv(variable);
    name = name[0] || !given ? name : given;
    if (strlen(name) >= size)
        return pw_option_refuse(o, option, "a name of at most 1023 bytes");
    snprintf(to, size, "%s", name);
    return 0;
}

static int read_points(struct pw_options *o, struct pw_point_names *names)
{
    int err = read_point(o, PW_OPT_MERGE_FP_POINT, "PROFILING_FP_START", names->first,
                         sizeof(names->first));
    return err ? err
               : read_point(o, PW_OPT_MERGE_BP_POINT, "PROFILING_BP_END", names->last,
                            sizeof(names->last));
}

/* Input and output of a merge. */
struct merge {
    char dir[4096];
    char output[4200];
    struct pw_merge_options how;
};

/* Returns -1 to continue, else the exit status. Only process 0 prints the reason. */
static int understand(int argc, char **argv, int process, struct merge *merge)
{
    static struct pw_options options;
    char problem[4600];
    struct pw_options_end end;
    pw_options_init(&options);
    int err = pw_options_parse(&options, PW_CMD_MERGE, argc, argv, &end);
    if (!err && end.help) {
        if (process == 0) {
            printf("Usage: profwrap merge [OPTIONS] DIR, also under mpirun -np P\n\n");
            pw_options_print_help(stdout, PW_CMD_MERGE);
        }
        return 0;
    }
    err = err ? err : read_flops(&options, &merge->how.flops);
    err = err ? err : read_points(&options, &merge->how.points);
    if (err || argc - end.next != 1) {
        if (process == 0)
            pw_error("%s",
                     err ? options.problem : "usage: profwrap merge [-o FILE] [--epoch N] DIR");
        return 2;
    }
    if (pw_epochdir_choose(argv[end.next], options.text[PW_OPT_MERGE_EPOCH], merge->dir,
                           sizeof(merge->dir), problem)) {
        if (process == 0)
            pw_error("%s", problem);
        return 2;
    }
    if (pw_directory_vet(merge->dir, problem, sizeof(problem))) {
        if (process == 0)
            pw_error("%s", problem);
        return 1;
    }
    merge->how.quiet = pw_option_flag(&options, PW_OPT_MERGE_QUIET);
    merge->how.wait_s = pw_option_int(&options, PW_OPT_MERGE_WAIT);
    if (options.text[PW_OPT_MERGE_OUTPUT][0])
        snprintf(merge->output, sizeof(merge->output), "%s", options.text[PW_OPT_MERGE_OUTPUT]);
    else
        snprintf(merge->output, sizeof(merge->output), "%.4000s/cluster.h5", merge->dir);
    return -1;
}

/* The rank that a launcher gave this process, "" without a launcher. */
static const char *launched_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (getenv(variables[i]))
            return getenv(variables[i]);
    return "";
}

#ifdef PW_MERGE_ALONE
static int can_start(void)
{
    return 1;
}

/* Under a launcher, one process merges. */
static int is_needed(void)
{
    return atoi(launched_rank()) == 0;
}
#else
/* Makes MPI_Init fast in a process that was started without a launcher. It is alone, but Open MPI
 * would start a daemon, for jobs that grow, and try every network, which takes 0.2 s each. Without
 * the daemon, all processes of a user on a host would share one session directory, which each
 * removes at its end even if another one needs it. So no session directory is made; only shared
 * file pointers need it, which are not used. */
static void start_alone_quickly(void)
{
    if (launched_rank()[0])
        return;
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
    setenv("OMPI_MCA_sharedfp", "^sm", 0);
    setenv("OMPI_MCA_pml", "ob1", 0);
}

/* Address space for Open MPI's start and the merge of a small job. With less, MPI_Init crashes. */
#define LEAST_ADDRESS_SPACE ((rlim_t)256 << 20)

/* Whether MPI can start under the limit on address space; prints a message when it cannot. */
static int has_address_space(void)
{
    struct rlimit limit;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur >= LEAST_ADDRESS_SPACE)
        return 1;
    if (!rank || strcmp(rank, "0") == 0)
        pw_error(
            "a merge takes %llu MiB of address space at least, and the limit here is %llu MiB: "
            "raise it (ulimit -v)",
            (unsigned long long)LEAST_ADDRESS_SPACE >> 20,
            (unsigned long long)limit.rlim_cur >> 20);
    return 0;
}

static int can_start(void)
{
    if (!has_address_space())
        return 0;
    start_alone_quickly();
    return 1;
}

static int is_needed(void)
{
    return 1;
}
#endif

/* Tells the process that has started mpirun that the merge has begun; see conclude.c. */
static void tell_started(void)
{
    const char *path = getenv(PW_MERGE_STARTED);
    const int file = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    if (file >= 0 && write(file, "1", 1) == 1)
        pw_debug(PW_LOG_MERGE, 3, "the merge has begun");
    if (file >= 0)
        close(file);
}

int main(int argc, char **argv)
{
    struct merge merge;
    int process, processes;
    /* Buffers of the size of a chunk are freed and allocated for every file; without this, the
     * kernel would clear their memory each time. Arrays of 4 MiB or more are mapped by themselves:
     * they grow without copies, and leave no holes. */
    mallopt(M_TRIM_THRESHOLD, 1 << 26);
    mallopt(M_MMAP_THRESHOLD, 1 << 22);
    if (!can_start())
        return 1;
    if (!is_needed())
        return 0;
    pw_ex_init(&argc, &argv);
    pw_ex_rank(PW_EX_WORLD, &process);
    pw_ex_size(PW_EX_WORLD, &processes);
    if (process == 0)
        tell_started();
    pw_h5_quiet();
    pw_h5_watch_install();
    int status = understand(argc, argv, process, &merge);
    if (status < 0) {
        if (process == 0)
            pw_progress_find_terminal();
        pw_confine(pw_readlimit_size(merge.dir),
                   PW_CONFINE_WRITES | (processes > 1 ? PW_CONFINE_MPI : 0));
        status = pw_aggregate(PW_EX_WORLD, merge.dir, merge.output, &merge.how) ? 1 : 0;
    }
    pw_ex_finalize();
    return status;
}
