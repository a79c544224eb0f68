/* Finds out why a straggler was slow: from the kernel's counters of every rank over the same steps,
 * and from the activities of the ranks' GPUs. Called by aggregate/findings; parts.c and stretch.c
 * use its limit for I/O. A new cause begins with a row of core/causes.h. Pure arithmetic: no I/O,
 * no allocation; the caller gives the scratch memory.
 *
 * A rank's own work (the step without the waits for others) has three parts: time on a CPU; time
 * ready for a CPU but without one (in the run queue); and time off the CPU (asleep, or waiting for
 * a device or a lock). Each part of the straggler is compared with the median of the other ranks.
 * The part that explains at least half of the excess is the cause; the other counters make it more
 * specific. A rank that computes more on a busy machine also waits for a CPU for longer. So this
 * waiting counts as contention only as far as it exceeds the waiting of the other ranks for as much
 * time on a CPU. Ranks that wait for each other inside MPI spin or yield meanwhile, which the
 * counters include. So the counters of a rank are multiplied by the share of its own work in the
 * steps. */
#ifndef PW_ANALYSIS_CAUSE_H
#define PW_ANALYSIS_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/gpu.h"
#include "analysis/thresholds.h"
#include "core/tables.h"

/* A rank that sleeps waits for I/O only from this rate on: one page in each 0.1 s, the interval of
 * the samples. Bytes are known only between two samples, so fewer bytes may belong to the time just
 * before. */
#define PW_CAUSE_LEAST_IO_PER_NS (4096 / 1e8)

/* I/O that is work for a CPU: a byte in so many ns, 10 MB/s. */
#define PW_CAUSE_WORK_NS_PER_BYTE 100

/* Throttled times are sums over all CPUs on which the cgroup was throttled, and the same for all
 * its ranks. So ranks of a host with about the same time are taken to be in one cgroup, and a rank
 * was throttled for that time / the number of these ranks, or longer. */
static inline bool pw_cause_is_same_quota(double throttled_ns, double others_ns)
{
    const double more_ns = throttled_ns - others_ns;
    return (more_ns < 0 ? -more_ns : more_ns) <= PW_QUOTA_SAME * others_ns;
}

/* The resources that one rank used in the examined steps. */
struct pw_usage {
    int64_t own_ns, total_ns; /* sums of the step trace; -1: not known */
    int64_t cpu_ns, runq_ns;  /* main thread; -1: not known */
    int64_t throttled_ns;     /* its cgroup, which may have other ranks, too; -1: not known */
    int64_t involuntary_cs;
    int64_t major_faults; /* of the main thread */
    int64_t io_bytes;     /* of the main thread alone (other threads may read and write sockets
                             for a network library); with bytes that it reads from a child's pipe */
    int64_t child_faults; /* of child processes that ended */
    int64_t samples;      /* taken within those steps */
};

struct pw_cause_found {
    enum pw_cause cause;
    bool is_on_cpu;    /* the part that explains the excess is time on a CPU */
    double share;      /* of the excess that it explains, 0..1; 0 when the cause is unknown */
    int64_t excess_ns; /* own work above the others' median, over all the steps */
    int64_t part_ns;   /* the straggler's time in the part that is the cause, over all the steps */
    int64_t others_part_ns; /* the median of the other ranks; when the part is waiting for a CPU,
                               their wait scaled to this rank's time on a CPU */
};

/* The cause of ranks[rank] being slow in `phase`. Unknown with fewer than 3 samples within the
 * steps, without another rank that is known, or without a part that explains half. `scratch` has
 * room for `nranks` values. */
struct pw_cause_found pw_cause_find(const struct pw_usage *ranks, size_t nranks, size_t rank,
                                    enum pw_phase phase, int64_t *scratch);

/* Changes the cause from more CPU work to file I/O where the rank read or wrote 10 MB more than the
 * others in each second of it. For a rank that was slow in few steps: such as one that writes a
 * checkpoint, which is work for a CPU as long as the files go to memory. Where a rank is slow in
 * many steps, it may read more because it has more data. */
void pw_cause_refine_rare(const struct pw_usage *ranks, size_t nranks, size_t rank,
                          struct pw_cause_found *found, int64_t *scratch);

/* How much longer a rank did work of one kind of /events/runtime than the others. */
struct pw_runtimework {
    double share;               /* of the rank's loss that this work explains, 0..1 */
    int64_t mine_ns, others_ns; /* others: median; 0 where no other rank is known */
    bool is_of_program;         /* the program asked for it: a compilation, a checkpoint. Set by the
                                   caller */
};

/* work_ns[nranks]: time in this work while the rank lost `lost_ns`; -1: not known. Where the others
 * do it for more than half as long, it explains nothing. `scratch` has room for `nranks` values. */
struct pw_runtimework pw_cause_runtimework(const int64_t *work_ns, size_t nranks, size_t rank,
                                           int64_t lost_ns, int64_t *scratch);

/* Whether a rank with this cause may in truth be doing such work. A rank that lacks a CPU or reads
 * pages from a disk is slow in all its work, and so in this: then only if the program asked for it,
 * and on this rank alone. Not if it was stopped, frozen or late. */
bool pw_cause_may_be_runtimework(int cause, const struct pw_runtimework *work);

/* How much longer an operator took on a rank than on the others. */
struct pw_growth {
    double share; /* share of the rank's excess that the operator explains, 0..1; 0 also when
                     nothing is known */
    int64_t mine_ns, others_ns; /* in a step: the rank's time, and the median of the other ranks */
};

/* Both arrays are means per step: op_ns[nranks] of the operator, own_ns[nranks] of all own work;
 * -1: not known. `scratch` has room for `nranks` values. */
struct pw_growth pw_cause_growth(const int64_t *op_ns, const int64_t *own_ns, size_t nranks,
                                 size_t rank, int64_t *scratch);

/* Finds out why a straggler with a GPU was slow, from the activities of the ranks' GPUs in the same
 * steps.
 *
 * Two parts of its own work are compared with the medians of the other ranks: the time in which the
 * GPU computes, and the time in which it has no work because the host launched late. The part that
 * explains at least half of the excess is examined. If the GPU computes for longer, these causes
 * are tried in turn:
 *   1. its clocks, if they are lower than the others' and the GPU reports that heat or power slows
 *      it;
 *   2. its kernels, if they take longer for the same launch configuration;
 *   3. more work. */

/* One rank's GPU in the examined steps. */
struct pw_gpu_usage {
    int64_t own_ns, compute_ns, dry_ns, copy_ns; /* -1: not known */
    struct pw_gpu_clocks clocks;
    double slowdown, confidence; /* of its kernels (slowranks.h), over the run; -1: not known */
};

struct pw_gpu_cause_found {
    enum pw_cause cause;             /* unknown, or one of the GPU's */
    int64_t part_ns, others_part_ns; /* time computing or dry, whichever is the cause: the rank's,
                                        and the median of the other ranks */
    double others_mhz;               /* median; -1: not known */
};

/* `scratch` has room for `nranks` values. */
struct pw_gpu_cause_found pw_gpu_cause_find(const struct pw_gpu_usage *ranks, size_t nranks,
                                            size_t rank, int64_t *scratch);

/* Finds ranks that processes outside the job keep from their CPUs. Pure arithmetic: no I/O, no
 * allocation; the caller gives the scratch memory.
 *
 * One rank of a host may be bound to a CPU on which something else computes, while the other ranks
 * may run anywhere. The scheduler moves the other ranks to that CPU in turn, and they wait for it
 * nearly as long. So waiting alone does not show which rank is bound. Two other values do: the CPUs
 * that each rank may use, and the time for which `others` (the processes outside the job) used
 * these CPUs:
 *
 * others = busy time of the rank's CPUs - CPU time of the host's ranks there
 *
 * Which CPUs the ranks used is known only from samples. So `others` is limited to the smallest
 * value among the ranks of the host that may use these CPUs and more.
 *
 * `kept` is the time for which others kept the rank from its CPUs. It is a share of the time in
 * which the rank was ready without a CPU (at most its own time):
 *
 * kept = ready x others / (busy - the rank's CPU time)
 *
 * A rank is *bound beside others* in a bin when others use a fifth of its CPUs' time or more, and
 * at least 1.5 times as much as they use of the CPUs of the host's other ranks (median, per CPU).
 * For a *narrow* rank, which may use at most half as many CPUs as the others (median), 0.8 times as
 * much is enough. */

struct pw_bound_input {
    size_t nbins, nranks;
    int64_t bin_ns;
    const struct pw_row_c_bin_trace *rows; /* [nbins * nranks] */
    const int64_t *host_of;                /* [nranks] hosts, numbered from 0 */
};

enum pw_beside { PW_BESIDE_NOT, PW_BESIDE, PW_BESIDE_NARROW };

/* Arrays of [nbins * nranks]. others_ns and kept_ns are -1 when a rank of the same host is unknown
 * in the bin, or a rank of the job has no file. */
struct pw_bound {
    int64_t *others_ns, *kept_ns;
    uint8_t *beside; /* enum pw_beside */
};

/* Bytes of scratch that pw_bound_measure() needs. */
size_t pw_bound_scratch(const struct pw_bound_input *in);

void pw_bound_measure(const struct pw_bound_input *in, void *scratch, const struct pw_bound *out);

/* A rank, and the bins first .. last. */
struct pw_bound_where {
    size_t rank, first, last;
};

/* The CPUs of that rank in those bins. */
struct pw_bound_found {
    int cpus, lowest, highest; /* CPUs that the rank may use, in the middle one of the bins in which
                                  it is bound */
    int others_cpus; /* the same for the host's other ranks, their median; 0: there are none */
    double share;    /* share of its CPUs' time that others used */
    ptrdiff_t since; /* first bin with these CPUs; -1: the rank had them from the first bin that is
                        known */
};

/* Returns 1 and fills *found when the rank is bound beside others in at least half of the bins,
 * else returns 0. `scratch` has room for nranks values. */
int pw_bound_look(const struct pw_bound_input *in, const struct pw_bound *bound,
                  struct pw_bound_where where, int64_t *scratch, struct pw_bound_found *found);

#endif
