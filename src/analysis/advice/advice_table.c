/* The table of rules, and the loop that evaluates each rule and sorts the advice that applies: what
 * the headline names first, then by what it saves. See advice.h. */
#include <inttypes.h>
#include <string.h>

#include "analysis/advice/calls.h"
#include "analysis/advice/findings.h"
#include "analysis/advice/rules.h"
#include "analysis/statistics.h"
#include "core/limits.h"

#define STRAGGLER_OF(name, cause, phase, text, plain)       \
    {                                                       \
        name, pw_judge_straggler, text, cause, phase, plain \
    }
#define JOB_OF(name, judge, text, plain) \
    {                                    \
        name, judge, text, 0, 0, plain   \
    }
#define STRAGGLER(name, cause, phase, text) STRAGGLER_OF(name, cause, phase, text, NULL)
#define JOB(name, judge, text) JOB_OF(name, judge, text, NULL)

/* A rule for stragglers applies to those of its cause and phase that no earlier rule took. Rules
 * whose saving is unknown are in the order of urgency. */
static const struct pw_advice_rule rules[] = {
    STRAGGLER("data_starvation", PW_CAUSE_DATA_STARVATION, PW_ADVICE_ANY,
              "waits for its data. Give the loader more workers or a deeper prefetch queue, and "
              "check whether this rank's shard is larger or on slower storage than the others'."),
    STRAGGLER("file_io_outside_steps", PW_CAUSE_FILE_IO, PW_ADVICE_OUTSIDE_STEPS,
              "is held up by file I/O outside the steps. Find the file that this rank alone reads "
              "before its first step, or writes after its last one, and let all ranks share that "
              "work, or keep the file on local disk."),
    STRAGGLER_OF(
        "file_io", PW_CAUSE_FILE_IO, PW_ADVICE_ANY,
        "is held up by file I/O. Find the file (checkpoint, log, data shard) that this rank "
        "alone reads or writes, and move it to a thread, to local disk or out of the step.",
        "is held up by file I/O. Find the file (checkpoint, log, input, output) that this "
        "rank alone reads or writes, and move it to a thread, to local disk or out of the "
        "iteration."),
    STRAGGLER("page_faults", PW_CAUSE_PAGE_FAULTS, PW_ADVICE_ANY,
              "is held up by page faults. Check for swapping and memory limits on its host, and "
              "touch or preallocate buffers before the first step."),
    STRAGGLER("cpu_contention", PW_CAUSE_CPU_CONTENTION, PW_ADVICE_ANY,
              "is ready to run but does not get a CPU. Look for other processes on its host, pin "
              "ranks to cores (mpirun --bind-to core --report-bindings), and use no more threads "
              "than cores."),
    STRAGGLER("cgroup_throttling", PW_CAUSE_CGROUP_THROTTLING, PW_ADVICE_ANY,
              "is stopped by its cgroup's CPU quota. Raise the quota (cpu.max, or the CPU limit of "
              "its container or job), or start no more threads than it allows."),
    STRAGGLER("stopped", PW_CAUSE_STOPPED, PW_ADVICE_ANY,
              "was stopped (SIGSTOP, a debugger, a job that the batch system suspended). Find out "
              "who stops processes on its host."),
    STRAGGLER("host_frozen", PW_CAUSE_HOST_FROZEN, PW_ADVICE_ANY,
              "was frozen with its host or container: nothing ran there, and nothing was sampled. "
              "Look for virtual machines that are moved or suspended, containers that are paused, "
              "and firmware that halts the host."),
    STRAGGLER("late_start", PW_CAUSE_LATE_START, PW_ADVICE_ANY,
              "entered MPI_Init later than the others, who waited for it. Look at what it does "
              "before: how its host starts processes, loads libraries and Python modules, and "
              "reads its input."),
    STRAGGLER("gpu_clocks_throttled", PW_CAUSE_GPU_CLOCKS_THROTTLED, PW_ADVICE_ANY,
              "has a GPU whose clocks are held down. Check its cooling and power supply "
              "(nvidia-smi -q -d PERFORMANCE), and its host for others that heat it; leave the "
              "host out until it is repaired."),
    STRAGGLER(
        "host_bound", PW_CAUSE_HOST_BOUND, PW_ADVICE_ANY,
        "leaves its GPU idle (dry): its program launches kernels late. Look at its host's CPU "
        "(binding, other processes, Python work between operators), and for synchronisation "
        "with the GPU; CUDA graphs or larger kernels take fewer launches."),
    STRAGGLER("slower_kernels", PW_CAUSE_SLOWER_KERNELS, PW_ADVICE_ANY,
              "has a GPU that takes longer for the same kernels. Compare its clocks, its memory "
              "errors and other users of the GPU with the other ranks' (nvidia-smi)."),
    STRAGGLER_OF("more_gpu_work", PW_CAUSE_MORE_GPU_WORK, PW_ADVICE_ANY,
                 "has more GPU work. Compare its batch size, sequence lengths and shapes "
                 "with the other ranks'.",
                 "has more GPU work. Compare the size of its part of the problem with the "
                 "other ranks'."),
    STRAGGLER("blocked_off_cpu_data", PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_DATA,
              "sleeps while it gets data. Its loader is slower than the others': check its "
              "storage, its number of workers and its prefetch queue."),
    STRAGGLER("blocked_off_cpu", PW_CAUSE_BLOCKED_OFF_CPU, PW_ADVICE_ANY,
              "sleeps or waits outside communication: off the CPU, but not for another rank. Look "
              "there for "
              "sleeps, locks, file or network I/O, and synchronisation with a GPU."),
    STRAGGLER("child_process", PW_CAUSE_CHILD_PROCESS, PW_ADVICE_ANY,
              "waits for processes that it starts (system(), subprocess, popen()). Start them "
              "once and keep them, do their work in the program, or let them run beside it."),
    STRAGGLER("slow_data", PW_ADVICE_ANY, PW_PHASE_DATA,
              "takes longer to get its data. Compare its shard and preprocessing with the others', "
              "and give the loader more workers or prefetch."),
    STRAGGLER_OF(
        "more_cpu_work", PW_CAUSE_MORE_CPU_WORK, PW_ADVICE_ANY,
        "computes longer than the others. Compare its work: batch size, sequence lengths and "
        "shapes, extra work that only this rank does (logging, evaluation); then the clock "
        "speed of its host.",
        "computes longer than the others. Compare its part of the problem (cells, particles, "
        "nonzeros and their cost), extra work that only this rank does (logging, output); "
        "then the clock speed of its host."),
    STRAGGLER(
        "unknown_optimizer", PW_ADVICE_ANY, PW_PHASE_OPTIMIZER,
        "is slow for an unknown reason. Check what only this rank does in the optimizer phase "
        "(checkpoints, logging), or put profwrap_range_push() and _pop() around "
        "parts of it."),
    STRAGGLER_OF(
        "unknown", PW_ADVICE_ANY, PW_ADVICE_ANY,
        "is slow for an unknown reason. To find out, put profwrap_range_push() and "
        "_pop() around parts of the phase, or record more with --level 2 and --sample-hz 100.",
        "is slow for an unknown reason. To find out, put profwrap_range_push() and "
        "_pop() around parts of the iteration, or record more with --level 2 and --sample-hz 100."),
    JOB("ended", pw_judge_ended, "The job did not end well."), /* the judge writes the text */
    JOB("hang", pw_judge_hang,
        "Find what the missing ranks did instead: their Python stacks (py-spy dump --pid PID while "
        "they hang; 'frames' of the dumps' last entries), their standard error, and whether their "
        "process and host still live. Ranks that took another branch of the program call other "
        "operations, or fewer."),
    JOB("all_slower", pw_judge_all_slower,
        "Find what all ranks had in common in those steps: checkpoints or validation (make them "
        "rarer, or run them in the background), clock speeds (heat, power limits), other jobs on "
        "the "
        "hosts, network or file system, or more work in the steps themselves (larger "
        "input, growing lists, memory that is not freed). For the hosts, see the page Resources "
        "(in text: section utilisation)."),
    JOB("mpi_not_recorded", pw_judge_mpi_not_recorded,
        "MPI calls of some ranks were not recorded, so it is unknown which rank waited for which."),
    JOB("no_communication", pw_judge_no_communication,
        "No communication was recorded on some ranks, or on all. If they communicate, "
        "check that --activities includes it and that recording was not paused all the time."),
    JOB("ranks_missing", pw_judge_ranks_missing,
        "Ranks are missing: check that every host can write to the output directory (a shared file "
        "system) and why those ranks ended; then run 'profwrap merge DIR' again."),
    JOB("ranks_unclosed", pw_judge_ranks_unclosed,
        "Some ranks were killed before their file was closed: their last seconds are missing. See "
        "the exit status and signal of each rank in report.json, completeness.ranks."),
    JOB("events_dropped", pw_judge_events_dropped,
        "Events were dropped: raise --ring-size (for example --ring-size 64M), or record less with "
        "--level 0."),
    JOB("ring_waits", pw_judge_ring_waits,
        "Ranks waited for room in a full ring, which looks like their own work: raise --ring-size, "
        "or record less with --level 0."),
    JOB("nccl_untimed", pw_judge_nccl_untimed,
        "The times of NCCL's operations are unknown, and so are waits in them and their bandwidth: "
        "record "
        "GPU kernels (cuda among the --activities), or use --level 2."),
    JOB("nccl_unplaced", pw_judge_nccl_unplaced,
        "NCCL's operations in replayed CUDA graphs are unknown, and so are waits in them: NCCL "
        "2.28 "
        "or later says what is captured. Record from the capture on without pauses and without "
        "another profiler in the program."),
    JOB("no_steps", pw_judge_no_steps,
        "Mark the steps, so that ranks can be compared step by step: call profwrap_step(n) of "
        "profwrap.h, or MPI_Pcontrol(10), at the start of each iteration."),
    JOB("steps_inferred", pw_judge_steps_inferred,
        "The program marks no steps; they are inferred from its calls. To be sure, mark them: "
        "profwrap_step(n) of profwrap.h, or MPI_Pcontrol(10), at the start of each iteration."),
    JOB("few_steps", pw_judge_few_steps,
        "Few steps were measured: profile more of them (20 or more) before you trust the "
        "comparison."),
    JOB("clocks_not_aligned", pw_judge_clocks_not_aligned,
        "The ranks' clocks are not aligned, so it is unknown which rank waited for which. Run with "
        "--clock-sync active, and let the hosts reach each other by UDP (--clock-interval); else "
        "only ranks that communicate in both directions can be aligned."),
    JOB("no_peers", pw_judge_no_peers,
        "Compare the rank with one of the same role: run with more ranks of it (data parallel "
        "replicas), give its amount of work with profwrap_work(), or move it to another host and "
        "compare the runs."),
    JOB("clock_coarse", pw_judge_clock_coarse,
        "The clock error is above 5 % of a step: smaller differences between hosts cannot be seen. "
        "A longer run on a quieter network narrows it."),
    JOB("slow_host", pw_judge_slow_host,
        "The ranks of a host are slow together: compare it with another (clock speed and its "
        "limits, temperature, other jobs, memory, storage), or leave it out."),
    JOB("slow_link", pw_judge_slow_link,
        "Messages between two ranks take longer than others of their size, whichever rank waits: "
        "check "
        "the cable, port and switch between their hosts, and the binding to the network card."),
    JOB("slow_network", pw_judge_slow_network,
        "Transfers between hosts took longer at times: look for what else used the network then "
        "(other jobs, checkpoints, backups), and for errors that the switches counted."),
    JOB("late_senders", pw_judge_late_senders,
        "Receivers wait for messages that are sent late: post the sends earlier (MPI_Isend as soon "
        "as the data are there), or give the sender less to do before them."),
    JOB("unequal_work", pw_judge_unequal_work,
        "Move work between the roles, or give the heavy role more ranks."),
    JOB_OF(
        "load_imbalance", pw_judge_load_imbalance,
        "The work is uneven, though no rank is late enough to be named: balance it (equal batches, "
        "sequence lengths and domains; sort or bucket what varies).",
        "The work is uneven, though no rank is late enough to be named: balance it (parts of "
        "the problem of equal cost, by a weighted partition, repeated when the cost changes)."),
    JOB_OF(
        "wait_roams", pw_judge_wait_roams,
        "Ranks wait for each other, yet no rank is late regularly: the delay moves from rank to "
        "rank. Look for noise (other jobs, more threads than cores, unpinned ranks) and for work "
        "that varies per step, such as sequence lengths.",
        "Ranks wait for each other, yet no rank is late regularly: the delay moves from rank "
        "to rank. Look for noise (other jobs, more threads than cores, unpinned ranks) and "
        "for work that varies from step to step."),
    JOB("data_processing_slow", pw_judge_data_processing, ""),
    JOB("data_transfer_slow", pw_judge_data_transfer, ""),
    JOB("data_wait", pw_judge_data_wait,
        "Ranks wait for data in each step: give the loader more workers or a deeper prefetch "
        "queue. profwrap_queue() shows which part of it is slow."),
    JOB_OF("transfer_exposed", pw_judge_transfer_exposed,
           "Much of the step is communication that no computation hides: start it earlier "
           "(nonblocking collectives during backward), send less, or use a faster network path.",
           "Much of the step is communication that no computation hides: start it earlier "
           "(nonblocking operations during computation that does not need their data), send "
           "less, or use a faster network path."),
    JOB_OF("gpus_idle", pw_judge_gpus_idle,
           "GPUs run out of work, because the programs launch their kernels late: look at the CPUs "
           "of the hosts (binding, other processes), Python work between operators, and calls that "
           "synchronise with the GPU; CUDA graphs or larger kernels take fewer launches.",
           "GPUs run out of work, because the programs launch their kernels late: look at the CPUs "
           "of the hosts (binding, other processes), work between launches, and calls that "
           "synchronise with the GPU; CUDA graphs or larger kernels take fewer launches."),
    JOB_OF(
        "small_collectives", pw_judge_small_collectives,
        "Many small collectives cost more in latency than in bytes: combine them into buckets of "
        "some MiB.",
        "Many small collectives cost more in latency than in bytes: combine several into one, "
        "or do them less often."),
    JOB_OF(
        "oversubscribed", pw_judge_oversubscribed,
        "Hosts have more to run than cores: start fewer ranks or threads (OMP_NUM_THREADS, loader "
        "workers), and bind ranks to cores (mpirun --bind-to core, or numactl).",
        "Hosts have more to run than cores: start fewer ranks or threads (OMP_NUM_THREADS), "
        "and bind ranks to cores (mpirun --bind-to core, or numactl)."),
    JOB("mpi_call_long", pw_judge_mpi_call_long,
        "Look at the ranks while they are in that call, by 'profwrap ctl status --stacks DIR': "
        "what is "
        "not in an MPI library's wait is late. Start-up: programs and libraries on a slow shared "
        "disk, a "
        "host that starts late. End: callbacks of attributes, clean-up of libraries."),
    JOB_OF(
        "memory_growth", pw_judge_memory_growth,
        "Memory grows with every step: look for what is kept, such as a graph or a loss with its "
        "history, lists that are appended to, caches without a limit.",
        "Memory grows with every step: look for what is kept, such as lists that are appended "
        "to, requests and buffers that are not freed, caches without a limit."),
    JOB("profiling_costly", pw_judge_profiling_costly,
        "Profiling itself cost more than 2 % of the run: record less with --level 0 or a lower "
        "--sample-hz before you compare run times."),
    JOB("one_rank", pw_judge_one_rank,
        "Profile more than one rank (mpirun -np N profwrap …) to see which holds the others back."),
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };
_Static_assert(RULES <= (int)PW_ADVICE_MAX, "every rule may apply at once");

static void set_text(char *out, size_t size, const char *text)
{
    struct pw_sentence s = {out, size, 0};
    pw_sentence_add(&s, "%s", text);
}

/* 1 when the rule is about ranks that dumps after a hang miss, or lack. Dumps do not tell times,
 * and nothing that the user can record more of is missing from them. */
static int is_of_dumps(const struct pw_advice_rule *rule)
{
    return strcmp(rule->name, "hang") == 0 || strcmp(rule->name, "ranks_missing") == 0;
}

static int is_phase(const struct pw_row_c_straggler *row, int phase)
{
    if (phase == PW_ADVICE_OUTSIDE_STEPS)
        return row->part != PW_PART_ANY && row->part != PW_PART_STEPS;
    return phase == PW_ADVICE_ANY || phase == row->phase;
}

const struct pw_advice_rule *pw_advice_rule_of(const struct pw_row_c_straggler *row)
{
    for (size_t i = 0; i < RULES; i++)
        if (rules[i].judge == pw_judge_straggler &&
            (rules[i].cause == PW_ADVICE_ANY || rules[i].cause == row->cause) &&
            is_phase(row, rules[i].phase))
            return &rules[i];
    return NULL;
}

static int is_rule(const struct pw_advice *advice, const char *name)
{
    return name && strcmp(advice->rule, name) == 0;
}

/* 1 when the advice is about the first straggler, or about the host or the data that hold it up. */
static int is_about_straggler(const struct pw_advice_input *in, const struct pw_advice *advice)
{
    const struct pw_cluster *c = in->cluster;
    const struct pw_row_c_straggler *worst = &c->stragglers[0];
    const struct pw_advice_rule *rule = pw_advice_rule_of(worst);
    if (is_rule(advice, "slow_host") && pw_host_of_straggler(c, worst))
        return 1;
    if (pw_advice_is_starved(in, worst->rank) &&
        (is_rule(advice, "data_processing_slow") || is_rule(advice, "data_transfer_slow")))
        return 1;
    return rule && is_rule(advice, rule->name);
}

/* 1 when the advice is about this shared loss. */
static int is_about_shared(int kind, const struct pw_advice *advice)
{
    static const char *const about[PW_SHARED_KINDS][3] = {
        [PW_SHARED_HOST_LATE] = {"gpus_idle"},
        [PW_SHARED_DATA_WAIT] = {"data_wait", "data_processing_slow", "data_transfer_slow"},
        [PW_SHARED_NO_CPU] = {"oversubscribed"},
        [PW_SHARED_ALL_SLOWER] = {"all_slower"},
        [PW_SHARED_NETWORK] = {"slow_network", "slow_link"},
        [PW_SHARED_TRANSFERS] = {"transfer_exposed"},
        [PW_SHARED_WAITS] = {"load_imbalance", "wait_roams"},
        [PW_SHARED_INIT] = {"mpi_call_long"},
        [PW_SHARED_FINALIZE] = {"mpi_call_long"},
    };
    return is_rule(advice, about[kind][0]) || is_rule(advice, about[kind][1]) ||
           is_rule(advice, about[kind][2]);
}

/* 1 when the advice is about what the headline names. */
static int is_about_verdict(const struct pw_advice_input *in, const struct pw_advice *advice)
{
    if (in->verdict.lead >= 0)
        return is_about_shared(in->verdict.lead, advice);
    switch (in->verdict.kind) {
    case PW_VERDICT_HELD_BACK:
        return is_about_straggler(in, advice);
    case PW_VERDICT_ALL_SLOWER:
        return is_rule(advice, "all_slower");
    case PW_VERDICT_IMBALANCE:
        return is_rule(advice, "unequal_work");
    case PW_VERDICT_NETWORK:
        return is_rule(advice, "slow_network") || is_rule(advice, "slow_link");
    default: /* the evidence that the verdict lacks: that rule has the name of the reason */
        return is_rule(advice, pw_verdict_reason(in->verdict.wanting));
    }
}

/* The advice of a smaller class comes first: the end of a job that did not end well, what the
 * headline names, then its likely cause. */
static int class_of(const struct pw_advice_input *in, const struct pw_advice *advice)
{
    if (is_rule(advice, "ended") || is_rule(advice, "hang"))
        return -1;
    if (is_about_verdict(in, advice))
        return 0;
    /* Ranks without a CPU make all other times longer. */
    return is_rule(advice, "oversubscribed") && pw_nocpu_find(in->cluster).worst >= 0 ? 1 : 2;
}

/* Inserts `one` in order: by class, then the larger saving. Equal or unknown savings keep the order
 * of the table. */
static void insert(const struct pw_advice_input *in, struct pw_advice *advice, size_t n,
                   const struct pw_advice *one)
{
    const int class = class_of(in, one);
    size_t at = n;
    for (; at > 0; at--) {
        const int before = class_of(in, &advice[at - 1]);
        if (before < class || (before == class && advice[at - 1].saves_ns >= one->saves_ns))
            break;
    }
    memmove(&advice[at + 1], &advice[at], (n - at) * sizeof(*advice));
    advice[at] = *one;
}

size_t pw_advice_collect(const struct pw_advice_input *input,
                         struct pw_advice advice[PW_ADVICE_MAX])
{
    const int is_dump = strcmp(input->cluster->imported, "flight") == 0;
    const int only_end = pw_ended_at_start(input->cluster);
    size_t n = 0;
    for (size_t i = 0; i < RULES; i++) {
        if (is_dump && !is_of_dumps(&rules[i]))
            continue;
        struct pw_advice one = {.rule = rules[i].name, .saves_ns = -1};
        if ((only_end && !is_rule(&one, "ended")) || !rules[i].judge(input, &rules[i], &one))
            continue;
        if (!one.text[0])
            set_text(one.text, sizeof(one.text), pw_advice_text_of(input, &rules[i]));
        pw_calls_name(input->cluster, one.text);
        insert(input, advice, n++, &one);
    }
    if (n == 0) {
        advice[n] = (struct pw_advice){.rule = "none", .saves_ns = -1};
        set_text(advice[n++].text, sizeof(advice->text),
                 "Nothing: no rank, phase or operation stands out.");
    }
    return n;
}

size_t pw_advice_listed(const struct pw_advice *advice)
{
    return advice->nranks < PW_ADVICE_RANKS ? advice->nranks : PW_ADVICE_RANKS;
}

double pw_advice_share(const struct pw_advice_input *input, const struct pw_advice *advice)
{
    double steps_ns = (double)input->step_mean_ns * (double)input->measured;
    if (input->cluster->restricted_to[0])
        return -1; /* a saving is of the whole run: it is no share of the measured steps */
    /* More than all steps is saved outside of them. */
    return advice->saves_ns < 0 || !(steps_ns >= (double)advice->saves_ns) || steps_ns <= 0
               ? -1
               : (double)advice->saves_ns / steps_ns;
}

struct pw_row_c_advice pw_advice_row(const struct pw_advice_input *input,
                                     const struct pw_advice *advice)
{
    struct pw_row_c_advice row = {
        .saves_ns = advice->saves_ns,
        .share = pw_advice_share(input, advice),
    };
    struct pw_sentence ranks = pw_sentence_on(row.ranks, sizeof(row.ranks));
    struct pw_sentence docs = pw_sentence_on(row.docs, sizeof(row.docs));
    set_text(row.rule, sizeof(row.rule), advice->rule);
    pw_advice_write_ranks(advice, &ranks);
    set_text(row.text, sizeof(row.text), advice->text);
    set_text(row.evidence, sizeof(row.evidence), advice->evidence);
    pw_sentence_add(&docs, "docs/advice.md#%s", advice->rule);
    return row;
}

/* Functions that several rules share. */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t add_known(int64_t sum, int64_t value)
{
    return value < 0 ? sum : pw_sum(sum, value);
}

static void count_ranks(struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    int unaligned = 0;
    in->expected = larger(c->nranks, (int64_t)c->nrank_rows);
    in->clock_error_max_ns = c->clock_error_max_ns;
    for (size_t r = 0; r < c->nrank_rows; r++) {
        const struct pw_row_c_rank *rank = &c->ranks[r];
        in->present += rank->present != 0;
        in->unclosed += rank->present && rank->complete != 1 && c->snapshot <= 0;
        in->dropped_events = add_known(in->dropped_events, rank->dropped_events);
        in->clock_error_max_ns = larger(in->clock_error_max_ns, rank->clock_error_ns);
        unaligned |= rank->present && rank->clock_error_ns < 0;
        if (rank->overhead_ns >= 0 && rank->run_ns > 0) {
            in->overhead_ns = add_known(in->overhead_ns, rank->overhead_ns);
            in->overhead_of_ns = add_known(in->overhead_of_ns, rank->run_ns);
        }
    }
    if (unaligned)
        in->clock_error_max_ns = -1;
}

/* 1 when the program looks like training; then texts speak of training. Ranges of operators are no
 * sign of training, because other programs have them, too. */
static int is_training(const struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    int seen = c->nqueues > 0 || in->mean.interval_ns >= 0 || in->mean.fp_bp_ns >= 0 ||
               in->mean.tail_ns >= 0 || in->mean.data_wait_ns >= 0;
    for (size_t i = 0; i < c->nstragglers && !seen; i++)
        seen =
            c->stragglers[i].phase >= PW_PHASE_DATA && c->stragglers[i].phase <= PW_PHASE_OPTIMIZER;
    for (size_t i = 0; i < c->nwhatif && !seen; i++)
        seen = strncmp(c->whatif[i].scope, "phase", sizeof(c->whatif[i].scope)) == 0 &&
               c->whatif[i].phase >= PW_PHASE_DATA && c->whatif[i].phase <= PW_PHASE_OPTIMIZER;
    for (size_t i = 0; i < c->ncollective_stats && !seen; i++)
        seen = pw_source_is_on_device(c->collective_stats[i].source);
    return seen;
}

const char *pw_advice_text_of(const struct pw_advice_input *in, const struct pw_advice_rule *rule)
{
    return rule->plain && !in->is_training ? rule->plain : rule->text;
}

void pw_advice_prepare(struct pw_advice_input *in)
{
    const struct pw_cluster *c = in->cluster;
    struct pw_mean duration = {0};
    in->present = in->unclosed = in->dropped_events = in->measured = 0;
    in->overhead_ns = in->overhead_of_ns = 0;
    count_ranks(in);
    for (size_t s = 0; s < c->nstep_rows; s++)
        if (c->steps[s].recorded == PW_RECORDED_ACTIVE) {
            in->measured++;
            pw_mean_add(&duration, c->steps[s].duration_ns);
        }
    in->step_mean_ns = pw_mean_value(&duration);
    in->is_training = is_training(in);
    pw_verdict_find(in, &in->verdict);
}

void pw_advice_add_rank(struct pw_advice *advice, int32_t rank)
{
    if (advice->nranks < PW_ADVICE_RANKS)
        advice->ranks[advice->nranks] = rank;
    advice->nranks++;
}

void pw_advice_write_ranks(const struct pw_advice *advice, struct pw_sentence *s)
{
    enum { SHOWN = 4 }; /* so that they fit a row's text */
    size_t shown = advice->nranks < SHOWN ? advice->nranks : SHOWN;
    for (size_t i = 0; i < shown; i++)
        pw_sentence_add(s, "%s%" PRId32, i ? ", " : "", advice->ranks[i]);
    if (advice->nranks > shown)
        pw_sentence_add(s, " and %zu more", advice->nranks - shown);
}

int64_t pw_advice_whatif_gain(const struct pw_advice_input *in, const char *scope)
{
    const struct pw_cluster *c = in->cluster;
    for (size_t i = 0; i < c->nwhatif; i++)
        if (strncmp(c->whatif[i].scope, scope, sizeof(c->whatif[i].scope)) == 0)
            return larger(c->whatif[i].gain_ns, 0);
    return -1;
}

int64_t pw_advice_of_all_steps(const struct pw_advice_input *in, double ns)
{
    return ns < 0 ? -1 : pw_whole(ns * (double)in->measured);
}
