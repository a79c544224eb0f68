/* The rules; see advice.h. A rule for stragglers applies to those of its cause and phase that no
 * earlier rule took; a rule for the job applies when its condition holds. */
#include "analysis/report/advice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/report/words.h"

enum { ANY = -1 };

static const struct straggler_rule {
    const char *name;
    int cause, phase;
    const char *text;
} straggler_rules[] = {
    {"data_starvation", PW_CAUSE_DATA, ANY,
     "waits for its data. Give the loader more workers or a deeper prefetch queue, and check "
     "whether "
     "this rank's shard is larger or on slower storage than the others'."},
    {"file_io", PW_CAUSE_IO, ANY,
     "is held up by file I/O. Find the file (checkpoint, log, data shard) that this rank alone "
     "reads "
     "or writes, and move it to a thread, to local disk or out of the step."},
    {"page_faults", PW_CAUSE_MEMORY, ANY,
     "is held up by page faults. Check for swapping and memory limits on its host, and touch or "
     "preallocate buffers before the first step."},
    {"cpu_contention", PW_CAUSE_CPU_CONTENTION, ANY,
     "is ready to run but does not get a CPU. Look for other processes on its host, pin ranks to "
     "cores (mpirun --bind-to core --report-bindings), and use no more threads than cores."},
    {"throttled", PW_CAUSE_THROTTLED, ANY,
     "is stopped by its cgroup's CPU quota. Raise the quota (cpu.max, or the CPU limit of its "
     "container or job), or start no more threads than it pays for."},
    {"gpu_clocks", PW_CAUSE_GPU_CLOCKS, ANY,
     "has a GPU whose clocks are held down. Check its cooling and power supply (nvidia-smi -q -d "
     "PERFORMANCE), and its host for others that heat it; leave the host out until it is "
     "repaired."},
    {"host_bound", PW_CAUSE_HOST_BOUND, ANY,
     "leaves its GPU dry: its program launches kernels late. Look at its host's CPU (binding, "
     "other "
     "processes, Python work between operators), and for synchronisation with the GPU; CUDA graphs "
     "or larger kernels take fewer launches."},
    {"slower_kernels", PW_CAUSE_KERNELS, ANY,
     "has a GPU that takes longer for the same kernels. Compare its clocks, its memory errors and "
     "other users of the GPU with the other ranks' (nvidia-smi)."},
    {"more_gpu_work", PW_CAUSE_GPU_WORK, ANY,
     "has more for its GPU to do. Compare its batch size, sequence lengths and shapes with the "
     "other "
     "ranks'."},
    {"blocked_data", PW_CAUSE_BLOCKED, PW_PHASE_DATA,
     "sleeps while it gets data. Its loader is slower than the others': check its storage, its "
     "number of workers and its prefetch queue."},
    {"blocked", PW_CAUSE_BLOCKED, ANY,
     "sleeps or waits outside MPI: off the CPU, but not for another rank. Look there for sleeps, "
     "locks, file or network I/O, and synchronisation with a GPU."},
    {"slow_data", ANY, PW_PHASE_DATA,
     "takes longer to get its data. Compare its shard and preprocessing with the others', and give "
     "the loader more workers or prefetch."},
    {"uneven_work", PW_CAUSE_COMPUTE, ANY,
     "computes longer than the others. Compare its work: batch size, sequence lengths and shapes, "
     "extra work that only this rank does (logging, evaluation); then the clock speed of its "
     "host."},
    {"unknown_optimizer", ANY, PW_PHASE_OPTIMIZER,
     "is slow in the optimizer, for a reason that is not known. Check what only this rank does "
     "there "
     "(checkpoints, logging), or put profwrap_range_push() and _pop() around parts of it."},
    {"unknown", ANY, ANY,
     "is slow for a reason that is not known. To find out, put profwrap_range_push() and _pop() "
     "around parts of the phase, or record more with --level 2 and --sample-hz 100."},
};

static bool has_no_steps(const struct pw_figures *f)
{
    return f->measured == 0;
}

static bool has_too_few_steps(const struct pw_figures *f)
{
    return f->measured > 0 && f->measured < 10;
}

static bool has_inferred_steps(const struct pw_figures *f)
{
    return f->measured > 0 && f->cluster->steps_inferred > 0;
}

static bool is_missing_ranks(const struct pw_figures *f)
{
    return f->present < f->expected;
}

static bool has_unclosed_ranks(const struct pw_figures *f)
{
    return f->unclosed > 0;
}

static bool has_drops(const struct pw_figures *f)
{
    return f->dropped_events > 0;
}

static bool has_coarse_clock(const struct pw_figures *f)
{
    return f->expected > 1 && f->step_mean_ns > 0 &&
           pw_figures_share(f->clock_error_max_ns, f->step_mean_ns) > 0.05;
}

static bool has_roaming_wait(const struct pw_figures *f)
{
    return f->cluster->nstragglers == 0 && f->expected > 1 && f->wait_share > 0.1;
}

static bool has_data_wait(const struct pw_figures *f)
{
    return f->data_wait_share > 0.05;
}

static bool has_exposed_transfer(const struct pw_figures *f)
{
    double wait = f->wait_share > 0 ? f->wait_share : 0;
    return f->expected > 1 && f->exposed_share - wait > 0.2;
}

/* Blocking collectives of less than 32 KiB: their transfer is latency, paid once per call. */
static bool has_small_collectives(const struct pw_figures *f)
{
    double small_ns = 0, steps_ns = (double)f->step_mean_ns * (double)f->measured;
    for (size_t i = 0; i < f->cluster->ncollective_stats; i++) {
        const struct pw_row_c_collective_stat *stat = &f->cluster->collective_stats[i];
        bool is_small = stat->count > 0 && stat->bytes > 0 && stat->bytes / stat->count < 32768;
        if (is_small && stat->transfer_mean_ns > 0 && !pw_figures_is_nonblocking(stat->op))
            small_ns += (double)stat->count * (double)stat->transfer_mean_ns;
    }
    return steps_ns > 0 && small_ns > 0.1 * steps_ns;
}

static bool has_costly_profiling(const struct pw_figures *f)
{
    return pw_figures_share(f->overhead_ns, f->overhead_of_ns) > 0.02;
}

static bool is_lone(const struct pw_figures *f)
{
    return f->expected == 1;
}

static const struct job_rule {
    const char *name;
    bool (*applies)(const struct pw_figures *f);
    const char *text;
} job_rules[] = {
    {"ranks_missing", is_missing_ranks,
     "Ranks are missing: check that every host can write to the output directory (a shared file "
     "system) and why those ranks ended; then run 'profwrap merge DIR' again."},
    {"ranks_unclosed", has_unclosed_ranks,
     "Some ranks were killed before their file was closed: their last seconds are missing. See the "
     "exit status and signal of each rank in report.json, completeness.ranks."},
    {"events_dropped", has_drops,
     "Events were dropped: raise --ring-size (for example --ring-size 64M), or record less with "
     "--level 0."},
    {"no_steps", has_no_steps,
     "Mark the steps, so that ranks can be compared step by step: call profwrap_step(n) of "
     "profwrap.h, or MPI_Pcontrol(10), at the start of each iteration."},
    {"steps_inferred", has_inferred_steps,
     "The steps are inferred from the period of the collectives. To be sure, mark them: "
     "profwrap_step(n) of profwrap.h, or MPI_Pcontrol(10), at the start of each iteration."},
    {"few_steps", has_too_few_steps,
     "Few steps were measured: profile more of them (20 or more) before you trust the comparison."},
    {"clock_coarse", has_coarse_clock,
     "The clock error is above 5 % of a step: smaller differences between hosts cannot be seen. A "
     "longer run on a quieter network narrows it."},
    {"wait_roams", has_roaming_wait,
     "Ranks wait for each other, yet no rank is late regularly: the delay moves from rank to rank. "
     "Look for noise (other jobs, more threads than cores, unpinned ranks) and for work that "
     "varies "
     "per step, such as sequence lengths."},
    {"data_wait", has_data_wait,
     "All ranks wait for data in each step: give the loader more workers or a deeper prefetch "
     "queue."},
    {"transfer_exposed", has_exposed_transfer,
     "Much of the step is communication that no computation hides: start it earlier (nonblocking "
     "collectives during backward), send less, or use a faster network path."},
    {"small_collectives", has_small_collectives,
     "Many small collectives cost more in latency than in bytes: combine them into buckets of some "
     "MiB."},
    {"profiling_costly", has_costly_profiling,
     "Profiling itself cost more than 2 % of the run: record less with --level 0 or a lower "
     "--sample-hz before you compare run times."},
    {"one_rank", is_lone,
     "Profile more than one rank (mpirun -np N profwrap …) to see which holds the others back."},
};

static bool rule_takes(const struct straggler_rule *rule, const struct pw_row_c_straggler *row)
{
    return (rule->cause == ANY || rule->cause == row->cause) &&
           (rule->phase == ANY || rule->phase == row->phase);
}

static size_t rule_of(const struct pw_row_c_straggler *row)
{
    size_t rule = 0;
    while (!rule_takes(&straggler_rules[rule], row))
        rule++; /* the last rule takes all */
    return rule;
}

/* "Rank 3 (in backward) ", or "Ranks 3, 5 and 12 more: each ". */
static int write_subject(struct pw_advice *advice, size_t total, int phase)
{
    const char *words = pw_words_phase(phase);
    size_t size = sizeof(advice->text);
    int n = snprintf(advice->text, size, "Rank%s %" PRId32, total > 1 ? "s" : "", advice->ranks[0]);
    for (size_t i = 1; i < advice->nranks; i++)
        n += snprintf(advice->text + n, size - (size_t)n, ", %" PRId32, advice->ranks[i]);
    if (total > advice->nranks)
        n += snprintf(advice->text + n, size - (size_t)n, " and %zu more", total - advice->nranks);
    if (words[0] && total == 1)
        n += snprintf(advice->text + n, size - (size_t)n, " (%s)", words);
    return n + snprintf(advice->text + n, size - (size_t)n, "%s ", total > 1 ? ": each" : "");
}

/* All stragglers that straggler_rules[rule] takes, in one piece of advice. */
static void advise_stragglers(const struct pw_figures *f, size_t rule, struct pw_advice *advice)
{
    size_t total = 0;
    int phase = PW_PHASE_NONE;
    *advice = (struct pw_advice){.rule = straggler_rules[rule].name};
    for (size_t i = 0; i < f->cluster->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &f->cluster->stragglers[i];
        if (rule_of(row) != rule)
            continue;
        if (advice->nranks < PW_ADVICE_RANKS)
            advice->ranks[advice->nranks++] = row->rank;
        phase = row->phase;
        total++;
    }
    int n = write_subject(advice, total, phase);
    snprintf(advice->text + n, sizeof(advice->text) - (size_t)n, "%s", straggler_rules[rule].text);
}

size_t pw_advice_collect(const struct pw_figures *figures, struct pw_advice advice[PW_ADVICE_MAX])
{
    enum { RULES = sizeof(straggler_rules) / sizeof(straggler_rules[0]) };
    enum { JOB_RULES = sizeof(job_rules) / sizeof(job_rules[0]) };
    _Static_assert(RULES + (int)JOB_RULES <= (int)PW_ADVICE_MAX, "every rule may apply at once");
    bool done[RULES] = {false};
    size_t n = 0;
    for (size_t i = 0; i < figures->cluster->nstragglers; i++) {
        size_t rule = rule_of(&figures->cluster->stragglers[i]);
        if (!done[rule])
            advise_stragglers(figures, rule, &advice[n++]);
        done[rule] = true;
    }
    for (size_t i = 0; i < JOB_RULES; i++) {
        if (!job_rules[i].applies(figures))
            continue;
        advice[n] = (struct pw_advice){.rule = job_rules[i].name};
        snprintf(advice[n].text, sizeof(advice[n].text), "%s", job_rules[i].text);
        n++;
    }
    if (n == 0) {
        advice[n] = (struct pw_advice){.rule = "none"};
        snprintf(advice[n].text, sizeof(advice[n].text),
                 "Nothing: no rank, phase or operation stands out.");
        n++;
    }
    return n;
}
