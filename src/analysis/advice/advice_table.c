/* The table of rules, the judge of those about stragglers, and the loop that evaluates each rule.
 * It sorts the advice that applies by class_of(), then by saving. See advice.h. */
#include <inttypes.h>
#include <string.h>

#include "analysis/advice/advice.h"
#include "analysis/advice/advice_unrecorded.h"
#include "analysis/advice/calls.h"
#include "analysis/advice/findings.h"
#include "analysis/advice/rules.h"
#include "core/limits.h"

/* Values of `phase` in a rule. OUTSIDE_STEPS: a part of the run before the first step or after the
 * last. */
enum { PW_ADVICE_ANY = -1, PW_ADVICE_OUTSIDE_STEPS = -2 };

enum trait {
    RULE_END = 1,   /* about the end of a job: comes first */
    RULE_START = 2, /* holds for jobs that could not start, too */
    RULE_DUMPS = 4, /* holds for dumps after a hang, too. Dumps have no times, and no option would
                       make them more complete */
    RULE_HOST = 8,  /* about the host that makes a straggler slow */
    RULE_DATA = 16, /* about the queues of data that make a straggler wait */
    RULE_CPUS = 32, /* about a lack of CPUs, which makes all other times longer */
};

#define BIT(kind) (1U << (kind))

/* A row of the table: it has everything about a rule except its judge's code. */
struct pw_advice_rule {
    const char *name;       /* also of its section of docs/advice.md */
    pw_advice_judge *judge; /* NULL: the rule is for stragglers of this cause and phase */
    int cause, phase;
    unsigned traits;              /* bits: enum trait */
    enum pw_verdict_kind verdict; /* of judges: the verdict that the rule is about; 0: none */
    enum pw_wanting wanting;      /* of judges: the missing evidence that it is about; 0: none */
    unsigned shared;              /* of judges: the shared losses that it is about, as bits */
    const char *text;             /* NULL: the judge writes it */
    const char *plain;    /* the text for programs that are no training; NULL: `text` is for all */
    const char *imported; /* the same for traces of other tools, which profwrap did not record */
};

#define STRAGGLER(of_name, of_cause, of_phase) \
    .name = (of_name), .cause = (of_cause), .phase = (of_phase)
#define JOB(of_name, of_judge) .name = (of_name), .judge = (of_judge)

/* Options of a run do not help who has only a trace. */
#define UNKNOWN_IMPORTED                                                                 \
    "is slow for an unknown reason. To find out, compare it with another rank in the "   \
    "timeline, and trace again with names around parts of the step (record_function of " \
    "torch.profiler), or profile the program with profwrap."

/* A rule for stragglers applies to those of its cause and phase that no earlier rule took. Rules
 * whose saving is unknown are in the order of urgency. */
static const struct pw_advice_rule rules[] = {
    {STRAGGLER("data_starvation", PW_CAUSE_DATA_STARVATION, PW_ADVICE_ANY),
     .text = "waits for its data. Give the loader more workers or a deeper prefetch queue, and "
             "check whether this rank's shard is larger or on slower storage than the others'."},
    {STRAGGLER("file_io_outside_steps", PW_CAUSE_FILE_IO, PW_ADVICE_OUTSIDE_STEPS),
     .text = "is held up by file I/O outside the steps. Find the file that this rank alone reads "
             "before its first step, or writes after its last one, and let all ranks share that "
             "work, or keep the file on local disk."},
    {STRAGGLER("file_io", PW_CAUSE_FILE_IO, PW_ADVICE_ANY),
     .text = "is held up by file I/O. Find the file (checkpoint, log, data shard) that this rank "
             "alone reads or writes, and move it to a thread, to local disk or out of the step.",
     .plain = "is held up by file I/O. Find the file (checkpoint, log, input, output) that this "
              "rank alone reads or writes, and move it to a thread, to local disk or out of the "
              "iteration."},
    {STRAGGLER("page_faults", PW_CAUSE_PAGE_FAULTS, PW_ADVICE_ANY),
     .text = "is held up by page faults. Check for swapping and memory limits on its host, and "
             "touch or preallocate buffers before the first step."},
    {STRAGGLER("cpu_contention", PW_CAUSE_CPU_CONTENTION, PW_ADVICE_ANY),
     .text = "is ready to run but does not get a CPU. Look for other processes on its host, pin "
             "ranks to cores (mpirun --bind-to core --report-bindings), and use no more threads "
             "than cores."},
    {STRAGGLER("cgroup_throttling", PW_CAUSE_CGROUP_THROTTLING, PW_ADVICE_ANY),
     .text = "is stopped by its cgroup's CPU quota. Raise the quota (cpu.max, or the CPU limit of "
             "its container or job), or start no more threads than it allows."},
    {STRAGGLER("stopped", PW_CAUSE_STOPPED, PW_ADVICE_ANY),
     .text = "was stopped (SIGSTOP, a debugger, a job that the batch system suspended). Find out "
             "who stops processes on its host."},
    {STRAGGLER("host_frozen", PW_CAUSE_HOST_FROZEN, PW_ADVICE_ANY),
     .text = "was frozen with its host or container: nothing ran there, and nothing was sampled. "
             "Look for virtual machines that are moved or suspended, containers that are paused, "
             "and firmware that halts the host."},
    {STRAGGLER("late_start", PW_CAUSE_LATE_START, PW_ADVICE_ANY),
     .text = "came late to MPI_Init, init_process_group or MindSpore's init(), where the others "
             "waited for it. Look at what it does before: how its host starts processes, loads "
             "libraries and Python modules, and reads its input."},
    {STRAGGLER("gpu_clocks_throttled", PW_CAUSE_GPU_CLOCKS_THROTTLED, PW_ADVICE_ANY),
     .text = "has a GPU whose clocks are held down. Check its cooling and power supply "
             "(nvidia-smi -q -d PERFORMANCE), and its host for others that heat it; leave the "
             "host out until it is repaired."},
    {STRAGGLER("host_bound", PW_CAUSE_HOST_BOUND, PW_ADVICE_ANY),
     .text = "leaves its GPU idle (dry): its program launches kernels late. Look at its host's "
             "CPU (binding, other processes, Python work between operators), and for "
             "synchronisation with the GPU; CUDA graphs or larger kernels take fewer launches."},
    {STRAGGLER("slower_kernels", PW_CAUSE_SLOWER_KERNELS, PW_ADVICE_ANY),
     .text = "has a GPU that takes longer for the same kernels. Compare its clocks, its memory "
             "errors and other users of the GPU with the other ranks' (nvidia-smi)."},
    {STRAGGLER("more_gpu_work", PW_CAUSE_MORE_GPU_WORK, PW_ADVICE_ANY),
     .text = "has more GPU work. Compare its batch size, sequence lengths and shapes with the "
             "other ranks'.",
     .plain = "has more GPU work. Compare the size of its part of the problem with the other "
              "ranks'."},
    {STRAGGLER("blocked_off_cpu_data", PW_CAUSE_BLOCKED_OFF_CPU, PW_PHASE_DATA),
     .text = "sleeps while it gets data. Its loader is slower than the others': check its "
             "storage, its number of workers and its prefetch queue."},
    {STRAGGLER("blocked_off_cpu", PW_CAUSE_BLOCKED_OFF_CPU, PW_ADVICE_ANY),
     .text = "sleeps or waits outside communication: off the CPU, but not for another rank. Look "
             "there for sleeps, locks, file or network I/O, and synchronisation with a GPU."},
    {STRAGGLER("child_process", PW_CAUSE_CHILD_PROCESS, PW_ADVICE_ANY),
     .text = "waits for processes that it starts (system(), subprocess, popen()). Start them once "
             "and keep them, do their work in the program, or let them run beside it."},
    {STRAGGLER("garbage_collection", PW_CAUSE_GARBAGE_COLLECTION, PW_ADVICE_ANY),
     .text = "collects garbage while the others wait. Call gc.freeze() after set-up, or "
             "gc.disable() and gc.collect() at the same steps on all ranks."},
    {STRAGGLER("compilation", PW_CAUSE_COMPILATION, PW_ADVICE_ANY),
     .text = "compiles while the others wait. Give all ranks the same shapes "
             "(torch.compile(dynamic=True), or padding), warm them up before the first step, and "
             "let them share a cache of compiled code."},
    {STRAGGLER("checkpoint", PW_CAUSE_CHECKPOINT, PW_ADVICE_ANY),
     .text = "writes checkpoints while the others wait. Let all ranks write a part each "
             "(torch.distributed.checkpoint), write from a copy in the background (async_save()), "
             "or write less often."},
    {STRAGGLER("slow_data", PW_ADVICE_ANY, PW_PHASE_DATA),
     .text = "takes longer to get its data. Compare its shard and preprocessing with the others', "
             "and give the loader more workers or prefetch."},
    {STRAGGLER("more_cpu_work", PW_CAUSE_MORE_CPU_WORK, PW_ADVICE_ANY),
     .text = "computes longer than the others. Compare its work: batch size, sequence lengths and "
             "shapes, extra work that only this rank does (logging, evaluation); then the clock "
             "speed of its host.",
     .plain = "computes longer than the others. Compare its part of the problem (cells, "
              "particles, nonzeros and their cost), extra work that only this rank does (logging, "
              "output); then the clock speed of its host."},
    {STRAGGLER("unknown_optimizer", PW_ADVICE_ANY, PW_PHASE_OPTIMIZER),
     .text = "is slow for an unknown reason. Check what only this rank does in the optimizer "
             "phase (checkpoints, logging), or put profwrap_range_push() and _pop() around parts "
             "of it.",
     .imported = UNKNOWN_IMPORTED},
    {STRAGGLER("unknown", PW_ADVICE_ANY, PW_ADVICE_ANY),
     .text = "is slow for an unknown reason. To find out, put profwrap_range_push() and _pop() "
             "around parts of the phase, or record more with --level 2 and --sample-hz 100.",
     .plain = "is slow for an unknown reason. To find out, put profwrap_range_push() and _pop() "
              "around parts of the iteration, or record more with --level 2 and --sample-hz 100.",
     .imported = UNKNOWN_IMPORTED},
    {JOB("ended", pw_judge_ended), .traits = RULE_END | RULE_START},
    {JOB("hang", pw_judge_hang), .traits = RULE_END | RULE_DUMPS,
     .text = "Find what the missing ranks did instead: their Python stacks (py-spy dump --pid PID "
             "while they hang; 'frames' of the dumps' last entries), their standard error, and "
             "whether their process and host still live. Ranks that took another branch of the "
             "program call other operations, or fewer."},
    {JOB("dumps", pw_judge_dumps), .traits = RULE_END | RULE_DUMPS,
     .text = "Give the dumps of all ranks, written while the job hangs: TORCH_FR_BUFFER_SIZE=2000 "
             "and TORCH_FR_DUMP_ON_TIMEOUT=1 (in older PyTorch TORCH_NCCL_TRACE_BUFFER_SIZE and "
             "TORCH_NCCL_DUMP_ON_TIMEOUT). Messages of Gloo are not in dumps; py-spy dump "
             "--pid PID shows where a rank is."},
    {JOB("all_slower", pw_judge_all_slower), .verdict = PW_VERDICT_ALL_SLOWER,
     .shared = BIT(PW_SHARED_ALL_SLOWER),
     .text = "Find what all ranks had in common in those steps: checkpoints or validation (make "
             "them rarer, or run them in the background), clock speeds (heat, power limits), "
             "other jobs on the hosts, network or file system, or more work in the steps "
             "themselves (larger input, growing lists, memory that is not freed). For the hosts, "
             "see the page Resources (in text: section utilisation)."},
    {JOB("mpi_not_recorded", pw_judge_mpi_not_recorded), .wanting = PW_WANTING_RECORDED_MPI,
     .text = "MPI calls of some ranks were not recorded, so it is unknown which rank waited for "
             "which."},
    {JOB("no_communication", pw_judge_no_communication), .wanting = PW_WANTING_COMMUNICATION,
     .text = "No communication was recorded on some ranks, or on all. If they communicate, check "
             "that --activities includes it and that recording was not paused all the time.",
     .imported = "The files have no communication of some ranks, or of all. If they communicate, "
                 "trace their GPUs, too (in torch.profiler activities=[ProfilerActivity.CPU, "
                 "ProfilerActivity.CUDA]), and steps that communicate."},
    {JOB("spawned_not_recorded", pw_judge_spawned_not_recorded), .wanting = PW_WANTING_SPAWNED,
     .text =
         "The ranks wait for processes that MPI_Comm_spawn started, which are not recorded. "
         "To see what these do, start them with the job (mpirun -np 2 profwrap A : -np 4 "
         "profwrap B), or time their work in them; to wait less, give them their work earlier."},
    {JOB("ranks_missing", pw_judge_ranks_missing), .traits = RULE_DUMPS,
     .wanting = PW_WANTING_ALL_RANKS,
     .text = "Ranks are missing: check that every host can write to the output directory (a "
             "shared file system) and why those ranks ended; then run 'profwrap merge DIR' again.",
     .imported = "Ranks are missing: import the files of all ranks together, into a new directory "
                 "(profwrap import -o DIR FILES)."},
    {JOB("ranks_unclosed", pw_judge_ranks_unclosed),
     .text = "Some ranks were killed before their file was closed: their last seconds are "
             "missing. See the exit status and signal of each rank in report.json, "
             "completeness.ranks.",
     .imported = "The files of some ranks end early: their last events are missing. Trace these "
                 "ranks again, or compare only the steps before."},
    {JOB("events_dropped", pw_judge_events_dropped),
     .text = "Events were dropped: raise --ring-size (for example --ring-size 64M), or record "
             "less with --level 0.",
     .imported = "Events of the files are damaged and left out: their numbers are on the lines of "
                 "profwrap import. Trace these ranks again, and look for full disks and programs "
                 "that were killed while they wrote."},
    {JOB("ring_waits", pw_judge_ring_waits),
     .text = "Ranks waited for room in a full ring, which looks like their own work: raise "
             "--ring-size, or record less with --level 0."},
    {JOB("nccl_untimed", pw_judge_nccl_untimed), .wanting = PW_WANTING_NCCL_TIMES,
     .text = "The times of NCCL's operations are unknown, and so are waits in them and their "
             "bandwidth: record GPU kernels (cuda among the --activities), or use --level 2.",
     .imported = "The times of NCCL's operations are unknown, and so are waits in them and their "
                 "bandwidth: import traces of torch.profiler, or logs of NCCL Inspector that were "
                 "written with NCCL_INSPECTOR_DUMP_VERBOSE=1."},
    {JOB("nccl_unplaced", pw_judge_nccl_unplaced), .wanting = PW_WANTING_NCCL_REPLAYS,
     .text = "NCCL's operations in replayed CUDA graphs are unknown, and so are waits in them: "
             "NCCL 2.28 or later says what is captured. Record from the capture on without pauses "
             "and without another profiler in the program."},
    {JOB("no_steps", pw_judge_no_steps), .wanting = PW_WANTING_STEPS,
     .text = "Mark the steps, so that ranks can be compared step by step: call profwrap_step(n) "
             "of profwrap.h, or MPI_Pcontrol(10), at the start of each iteration.",
     .imported = "Mark the steps, so that ranks can be compared step by step: call the profiler's "
                 "step() in each iteration (torch.profiler, torch_npu and MindSpore have it), or "
                 "record the job with profwrap."},
    {JOB("steps_inferred", pw_judge_steps_inferred),
     .text = "The program marks no steps; they are inferred from its calls. To be sure, mark "
             "them: profwrap_step(n) of profwrap.h, or MPI_Pcontrol(10), at the start of each "
             "iteration.",
     .imported = "The files mark no steps; they are inferred from the calls. To be sure, call the "
                 "profiler's step() in each iteration (torch.profiler, torch_npu and MindSpore "
                 "have it), or record the job with profwrap."},
    {JOB("few_steps", pw_judge_few_steps), .wanting = PW_WANTING_MORE_STEPS,
     .text = "Few steps were measured: profile more of them (20 or more) before you trust the "
             "comparison."},
    {JOB("clocks_not_aligned", pw_judge_clocks_not_aligned), .wanting = PW_WANTING_CLOCKS,
     .text = "The ranks' clocks are not aligned, so it is unknown which rank waited for which. "
             "Run with --clock-sync active, and let the hosts reach each other by UDP "
             "(--clock-interval); else only ranks that communicate in both directions can be "
             "aligned.",
     .imported = "The ranks' clocks are not aligned, so it is unknown which rank waited for which. "
                 "Clocks are aligned by collectives: import the traces of all ranks, of the same "
                 "steps, with the GPU kernels of their collectives."},
    {JOB("requests_polled", pw_judge_requests_polled), .wanting = PW_WANTING_BLOCKING,
     .text =
         "Let the program wait for its requests by MPI_Wait, MPI_Waitall or MPI_Waitsome for one "
         "run, if it can: then waits are seen. Or mark its work by profwrap_phase() or ranges, "
         "and compare them between ranks.",
     .imported =
         "Record a run that waits for its requests by MPI_Wait, MPI_Waitall or MPI_Waitsome."},
    {JOB("no_peers", pw_judge_no_peers), .wanting = PW_WANTING_PEERS,
     .text = "Compare the rank with one of the same role: run with more ranks of it (data "
             "parallel replicas), give its amount of work with profwrap_work(), or move it to "
             "another host and compare the runs.",
     .imported = "Compare the rank with one of the same role: trace more ranks of it (data "
                 "parallel replicas), or move it to another host and compare the traces."},
    {JOB("clock_coarse", pw_judge_clock_coarse),
     .text = "The clock error is above 5 % of a step: smaller differences between hosts cannot be "
             "seen. A longer run on a quieter network narrows it.",
     .imported =
         "The clock error is above 5 % of a step: smaller differences between hosts cannot be "
         "seen. Traces of more steps narrow it, because clocks are aligned by the collectives."},
    {JOB("slow_host", pw_judge_slow_host), .traits = RULE_HOST,
     .text = "The ranks of a host are slow together: compare it with another (clock speed and its "
             "limits, temperature, other jobs, memory, storage), or leave it out."},
    {JOB("slow_link", pw_judge_slow_link), .verdict = PW_VERDICT_NETWORK,
     .shared = BIT(PW_SHARED_NETWORK)},
    {JOB("slow_network", pw_judge_slow_network), .verdict = PW_VERDICT_NETWORK,
     .shared = BIT(PW_SHARED_NETWORK),
     .text = "Transfers between hosts took longer at times: look for what else used the network "
             "then (other jobs, checkpoints, backups), and for errors that the switches counted."},
    {JOB("late_senders", pw_judge_late_senders),
     .text = "Receivers wait for messages that are sent late: post the sends earlier (MPI_Isend "
             "as soon as the data are there), or give the sender less to do before them."},
    {JOB("unequal_work", pw_judge_unequal_work), .verdict = PW_VERDICT_IMBALANCE,
     .text = "Move work between the roles, or give the heavy role more ranks."},
    {JOB("load_imbalance", pw_judge_load_imbalance), .shared = BIT(PW_SHARED_WAITS),
     .text = "The work is uneven, though no rank is late enough to be named: balance it (equal "
             "batches, sequence lengths and domains; sort or bucket what varies).",
     .plain = "The work is uneven, though no rank is late enough to be named: balance it (parts "
              "of the problem of equal cost, by a weighted partition, repeated when the cost "
              "changes)."},
    {JOB("wait_roams", pw_judge_wait_roams), .shared = BIT(PW_SHARED_WAITS),
     .text = "Ranks wait for each other, yet no rank is late regularly: the delay moves from rank "
             "to rank. Look for noise (other jobs, more threads than cores, unpinned ranks) and "
             "for work that varies per step, such as sequence lengths.",
     .plain = "Ranks wait for each other, yet no rank is late regularly: the delay moves from "
              "rank to rank. Look for noise (other jobs, more threads than cores, unpinned ranks) "
              "and for work that varies from step to step."},
    {JOB("data_processing_slow", pw_judge_data_processing), .traits = RULE_DATA,
     .shared = BIT(PW_SHARED_DATA_WAIT)},
    {JOB("data_transfer_slow", pw_judge_data_transfer), .traits = RULE_DATA,
     .shared = BIT(PW_SHARED_DATA_WAIT)},
    {JOB("data_wait", pw_judge_data_wait), .shared = BIT(PW_SHARED_DATA_WAIT),
     .text = "Ranks wait for data in each step: give the loader more workers or a deeper prefetch "
             "queue. profwrap_queue() shows which part of it is slow.",
     .imported = "Ranks wait for data in each step: give the loader more workers or a deeper "
                 "prefetch queue."},
    {JOB("transfer_exposed", pw_judge_transfer_exposed), .shared = BIT(PW_SHARED_TRANSFERS),
     .text = "Much of the step is communication that no computation hides: start it earlier "
             "(nonblocking collectives during backward), send less, or use a faster network path.",
     .plain = "Much of the step is communication that no computation hides: start it earlier "
              "(nonblocking operations during computation that does not need their data), send "
              "less, or use a faster network path."},
    {JOB("gpus_idle", pw_judge_gpus_idle), .shared = BIT(PW_SHARED_HOST_LATE),
     .text = "GPUs run out of work, because the programs launch their kernels late: look at the "
             "CPUs of the hosts (binding, other processes), Python work between operators, and "
             "calls that synchronise with the GPU; CUDA graphs or larger kernels take fewer "
             "launches.",
     .plain = "GPUs run out of work, because the programs launch their kernels late: look at the "
              "CPUs of the hosts (binding, other processes), work between launches, and calls "
              "that synchronise with the GPU; CUDA graphs or larger kernels take fewer launches."},
    {JOB("small_collectives", pw_judge_small_collectives),
     .text = "Many small collectives cost more in latency than in bytes: combine them into "
             "buckets of some MiB.",
     .plain = "Many small collectives cost more in latency than in bytes: combine several into "
              "one, or do them less often."},
    {JOB("oversubscribed", pw_judge_oversubscribed), .traits = RULE_CPUS,
     .shared = BIT(PW_SHARED_NO_CPU),
     .text = "Hosts have more to run than cores: start fewer ranks or threads (OMP_NUM_THREADS, "
             "loader workers), and bind ranks to cores (mpirun --bind-to core, or numactl).",
     .plain = "Hosts have more to run than cores: start fewer ranks or threads (OMP_NUM_THREADS), "
              "and bind ranks to cores (mpirun --bind-to core, or numactl)."},
    {JOB("mpi_call_long", pw_judge_mpi_call_long),
     .shared = BIT(PW_SHARED_INIT) | BIT(PW_SHARED_FINALIZE),
     .text = "Look at the ranks while they are in that call, by 'profwrap ctl status --stacks "
             "DIR': what is not in an MPI library's wait is late. Start-up: programs and "
             "libraries on a slow shared disk, a host that starts late. End: callbacks of "
             "attributes, clean-up of libraries.",
     .imported = "Look at the ranks while they are in that call, with py-spy dump --pid PID or a "
                 "debugger: what is not in an MPI library's wait is late. Start-up: programs and "
                 "libraries on a slow shared disk, a host that starts late. End: callbacks of "
                 "attributes, clean-up of libraries."},
    {JOB("memory_growth", pw_judge_memory_growth),
     .text = "Memory grows with every step: look for what is kept, such as a graph or a loss with "
             "its history, lists that are appended to, caches without a limit.",
     .plain = "Memory grows with every step: look for what is kept, such as lists that are "
              "appended to, requests and buffers that are not freed, caches without a limit."},
    {JOB("profiling_costly", pw_judge_profiling_costly),
     .text = "Profiling itself cost more than 2 % of the run: record less with --level 0 or a "
             "lower --sample-hz before you compare run times.",
     .imported = "The profiler itself cost more than 2 % of the run: trace fewer steps, and in "
                 "torch.profiler without with_stack, record_shapes and profile_memory, before you "
                 "compare run times."},
    {JOB("one_rank", pw_judge_one_rank),
     .text = "Profile more than one rank (mpirun -np N profwrap …) to see which holds the others "
             "back.",
     .imported = "Import the traces of several ranks, which each rank writes itself, to see which "
                 "holds the others back: profwrap import -o DIR FILES."},
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };
_Static_assert(RULES <= (int)PW_ADVICE_MAX, "every rule may apply at once");

static int is_phase(const struct pw_row_c_straggler *row, int phase)
{
    if (phase == PW_ADVICE_OUTSIDE_STEPS)
        return row->part != PW_PART_ANY && row->part != PW_PART_STEPS;
    return phase == PW_ADVICE_ANY || phase == row->phase;
}

/* The rule that applies to this straggler: the first in the table with its cause and phase. */
static const struct pw_advice_rule *rule_of(const struct pw_row_c_straggler *row)
{
    for (size_t i = 0; i < RULES; i++)
        if (!rules[i].judge && (rules[i].cause == PW_ADVICE_ANY || rules[i].cause == row->cause) &&
            is_phase(row, rules[i].phase))
            return &rules[i];
    return NULL;
}

static const char *phase_words(int phase)
{
    return phase == PW_PHASE_NONE ? "" : phase == PW_PHASE_OTHER ? "outside any phase" : "in ";
}

/* "Rank 3 (in backward) ", or "Ranks 3, 5 and 12 more: each ". */
static void write_subject(const struct pw_advice *advice, int phase, struct pw_sentence *s)
{
    const char *words = phase_words(phase);
    pw_sentence_add(s, "Rank%s ", advice->nranks > 1 ? "s" : "");
    pw_advice_write_ranks(advice, s);
    if (advice->nranks > 1)
        pw_sentence_add(s, ": each ");
    else if (words[0])
        pw_sentence_add(s, " (%s%s) ", words,
                        phase == PW_PHASE_OTHER ? "" : pw_enum_name(PW_F_PHASE, phase));
    else
        pw_sentence_add(s, " ");
}

static void write_evidence(const struct pw_row_c_straggler *row, struct pw_sentence *s)
{
    char excess[32];
    if (row->kind == PW_STRAGGLER_STRETCH) {
        pw_sentence_add(s, "rank %" PRId32 ": %.*s", row->rank, (int)sizeof(row->evidence),
                        row->evidence);
        return;
    }
    pw_sentence_add(s,
                    "rank %" PRId32 ": %s more than the others in %" PRId64 " steps (%" PRId64
                    "-%" PRId64 ")",
                    row->rank, pw_text_ns(excess, sizeof(excess), row->excess_ns), row->steps_hit,
                    row->first_step, row->last_step);
    if (row->evidence[0])
        pw_sentence_add(s, "; %.*s", (int)sizeof(row->evidence), row->evidence);
}

/* Whether the advice about the data pipeline already explains this straggler. */
static int is_taken(const struct pw_advice_input *in, const struct pw_row_c_straggler *row)
{
    return (row->phase == PW_PHASE_DATA || row->cause == PW_CAUSE_DATA_STARVATION) &&
           pw_advice_is_starved(in, row->rank);
}

static const char *text_of(const struct pw_advice_input *in, const struct pw_advice_rule *rule)
{
    return rule->imported && in->cluster->imported[0] ? rule->imported
           : rule->plain && !in->is_training          ? rule->plain
                                                      : rule->text;
}

/* 1 when the rule is that of a straggler; then it has written the ranks, the text, the evidence and
 * the saving. */
static int judge_stragglers(const struct pw_advice_input *in, const struct pw_advice_rule *rule,
                            struct pw_advice *advice)
{
    struct pw_sentence text = pw_sentence_on(advice->text, sizeof(advice->text));
    struct pw_sentence evidence = pw_sentence_on(advice->evidence, sizeof(advice->evidence));
    int phase = PW_PHASE_NONE;
    size_t n = 0;
    for (size_t i = 0; i < in->cluster->nstragglers; i++) {
        const struct pw_row_c_straggler *row = &in->cluster->stragglers[i];
        if (rule_of(row) != rule || is_taken(in, row) ||
            (in->verdict.unrecorded.ranks && pw_unrecorded_has(in->cluster, row->rank)))
            continue;
        if (!advice->nranks)
            write_evidence(row, &evidence);
        pw_advice_add_rank(advice, row->rank);
        phase = row->phase;
        n++;
        if (row->gain_ns >= 0)
            advice->saves_ns = pw_sum(advice->saves_ns < 0 ? 0 : advice->saves_ns, row->gain_ns);
    }
    const int64_t together_ns = pw_advice_together_gain(in);
    if (together_ns >= 0 && (n == in->cluster->nstragglers || advice->saves_ns > together_ns))
        advice->saves_ns = together_ns;
    if (!advice->nranks ||
        (in->verdict.kind != PW_VERDICT_HELD_BACK && in->verdict.kind != PW_VERDICT_ALL_SLOWER &&
         in->verdict.kind != PW_VERDICT_IMBALANCE && in->verdict.kind != PW_VERDICT_NETWORK))
        return 0;
    write_subject(advice, phase == PW_PHASE_OTHER && !in->is_training ? PW_PHASE_NONE : phase,
                  &text);
    pw_sentence_add(&text, "%s", text_of(in, rule));
    return 1;
}

/* 1 when the advice is about the first straggler, or about the host or the data that hold it up. */
static int is_about_straggler(const struct pw_advice_input *in, const struct pw_advice_rule *rule)
{
    const struct pw_row_c_straggler *worst = &in->cluster->stragglers[0];
    if ((rule->traits & RULE_HOST) && pw_host_of_straggler(in->cluster, worst))
        return 1;
    if ((rule->traits & RULE_DATA) && pw_advice_is_starved(in, worst->rank))
        return 1;
    return rule == rule_of(worst);
}

/* 1 when the advice is about what the headline names, or about the evidence that it lacks. */
static int is_about_verdict(const struct pw_advice_input *in, const struct pw_advice_rule *rule)
{
    const struct pw_verdict *verdict = &in->verdict;
    if (verdict->lead >= 0)
        return (rule->shared & BIT(verdict->lead)) != 0;
    if (verdict->kind == PW_VERDICT_HELD_BACK)
        return is_about_straggler(in, rule);
    if (verdict->wanting != PW_WANTING_NOTHING)
        return rule->wanting == verdict->wanting;
    return rule->verdict != 0 && rule->verdict == verdict->kind;
}

/* The advice of a smaller class comes first: the end of a job that did not end well, what the
 * headline names, then a lack of CPUs, its likely cause. */
static int class_of(const struct pw_advice_input *in, const struct pw_advice_rule *rule)
{
    if (rule->traits & RULE_END)
        return -1;
    if (is_about_verdict(in, rule))
        return 0;
    return (rule->traits & RULE_CPUS) && pw_nocpu_find(in->cluster).worst >= 0 ? 1 : 2;
}

/* Inserts `one` in order: by class, then the larger saving. Equal or unknown savings keep the order
 * of the table. */
static void insert(const struct pw_advice_input *in, struct pw_advice *advice, size_t n,
                   const struct pw_advice *one)
{
    const int class = class_of(in, one->of);
    size_t at = n;
    for (; at > 0; at--) {
        const int before = class_of(in, advice[at - 1].of);
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
    const unsigned wanted =
        (is_dump ? RULE_DUMPS : 0U) | (pw_ended_at_start(input->cluster) ? RULE_START : 0U);
    size_t n = 0;
    for (size_t i = 0; i < RULES; i++) {
        const struct pw_advice_rule *rule = &rules[i];
        struct pw_advice one = {.rule = rule->name, .of = rule, .saves_ns = -1};
        if ((rule->traits & wanted) != wanted ||
            !(rule->judge ? rule->judge(input, &one) : judge_stragglers(input, rule, &one)))
            continue;
        if (!one.text[0])
            pw_advice_set_text(one.text, sizeof(one.text), text_of(input, rule));
        pw_calls_name(input->cluster, one.text);
        insert(input, advice, n++, &one);
    }
    if (n == 0) {
        advice[n] = (struct pw_advice){.rule = "none", .saves_ns = -1};
        pw_advice_set_text(advice[n++].text, sizeof(advice->text),
                           "Nothing: no rank, phase or operation stands out.");
    }
    return n;
}
