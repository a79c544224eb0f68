/* Compares each part of the straggler's time, and of its GPU's, with the other ranks' medians; see
 * cause.h. */
#include "analysis/cause.h"

#include "analysis/statistics.h"

enum { LEAST_SAMPLES = 3 };

/* Limits of causes for time off the CPU. Page faults: one major fault, which reads a page from a
 * disk, in 10 ms of that time. I/O: 1 MB/s over that time. */
enum { NS_PER_FAULT = 10000000, NS_PER_BYTE = 1000 };

/* A process that is started and ends has some 60 page faults or more: one such process in 3 s of
 * that time. */
enum { NS_PER_CHILD_FAULT = 50000000 };

enum part { ON_CPU, READY, OFF_CPU, PARTS };

static bool is_known(const struct pw_usage *u)
{
    return u->own_ns >= 0 && u->total_ns > 0 && u->cpu_ns >= 0 && u->runq_ns >= 0;
}

/* One part of a rank's own work. */
static int64_t part_of(const struct pw_usage *u, enum part part)
{
    int64_t off = u->total_ns - u->cpu_ns - u->runq_ns;
    int64_t whole = part == ON_CPU ? u->cpu_ns : part == READY ? u->runq_ns : off;
    double own = (double)u->own_ns / (double)u->total_ns;
    return whole > 0 ? (int64_t)((double)whole * (own < 1 ? own : 1)) : 0;
}

/* One rank among the ranks that it is compared with. */
struct compared {
    const struct pw_usage *ranks; /* [nranks] */
    size_t nranks, rank;
    int64_t *scratch; /* [nranks] */
};

/* Time ready without a CPU / time on a CPU: the median over the known ranks other than `rank`, in
 * units of 1/1024. */
static int64_t others_rate(const struct compared *c)
{
    size_t n = 0;
    for (size_t r = 0; r < c->nranks; r++)
        if (r != c->rank && is_known(&c->ranks[r]) && c->ranks[r].cpu_ns > 0)
            c->scratch[n++] =
                (int64_t)(1024.0 * (double)c->ranks[r].runq_ns / (double)c->ranks[r].cpu_ns);
    return n ? pw_median_i64(c->scratch, n) : 0;
}

/* Median of a part over the known ranks other than `rank`; with PARTS, of own work. -1 when there
 * is none. */
static int64_t others_median(const struct compared *c, enum part part)
{
    size_t n = 0;
    for (size_t r = 0; r < c->nranks; r++)
        if (r != c->rank && is_known(&c->ranks[r]))
            c->scratch[n++] = part == PARTS ? c->ranks[r].own_ns : part_of(&c->ranks[r], part);
    return n ? pw_median_i64(c->scratch, n) : -1;
}

static int64_t others_count(const struct compared *c, int64_t (*count)(const struct pw_usage *))
{
    size_t n = 0;
    for (size_t r = 0; r < c->nranks; r++)
        if (r != c->rank && is_known(&c->ranks[r]))
            c->scratch[n++] = count(&c->ranks[r]);
    return n ? pw_median_i64(c->scratch, n) : 0;
}

static int64_t faults(const struct pw_usage *u)
{
    return u->major_faults;
}

static int64_t io(const struct pw_usage *u)
{
    return u->io_bytes;
}

static int64_t throttled(const struct pw_usage *u)
{
    return u->throttled_ns;
}

static int64_t child_faults(const struct pw_usage *u)
{
    return u->child_faults;
}

/* The cause of more time off the CPU. */
static enum pw_cause refine_off(const struct compared *c, enum pw_phase phase, int64_t more_ns)
{
    int64_t more_faults = c->ranks[c->rank].major_faults - others_count(c, faults);
    int64_t more_io = c->ranks[c->rank].io_bytes - others_count(c, io);
    int64_t more_children = c->ranks[c->rank].child_faults - others_count(c, child_faults);
    if (more_faults > 0 && more_faults >= more_ns / NS_PER_FAULT)
        return PW_CAUSE_PAGE_FAULTS;
    if (phase == PW_PHASE_DATA)
        return PW_CAUSE_DATA_STARVATION;
    if (more_children > 0 && more_children >= more_ns / NS_PER_CHILD_FAULT)
        return PW_CAUSE_CHILD_PROCESS;
    if (more_children <= 0 && more_io > 0 && more_io >= more_ns / NS_PER_BYTE)
        return PW_CAUSE_FILE_IO;
    return PW_CAUSE_BLOCKED_OFF_CPU;
}

/* What may explain a rank's excess: more of a part than the others have. */
struct excess {
    enum part part;
    int64_t others;
    double weight; /* what a ns of the part costs */
};

/* Makes the part the best one when it explains enough of the excess, and more than the best part so
 * far. */
static void weigh(const struct pw_usage *u, struct excess by, struct pw_cause_found *found,
                  enum part *best)
{
    double more = (double)(part_of(u, by.part) - by.others) * by.weight;
    double share = more / (double)found->excess_ns;
    if (share < PW_CAUSE_LEAST_SHARE || share <= found->share)
        return;
    *best = by.part;
    found->share = share;
    found->part_ns = part_of(u, by.part);
    found->others_part_ns = by.others;
}

/* How long the rank would be ready without a CPU if it were as the others: their rate times its
 * time on a CPU. But not less than their median, because ranks that yield while they wait are
 * hardly on a CPU, and their rate has no meaning. */
static int64_t usual_ready(const struct compared *c, double rate)
{
    const int64_t by_rate = (int64_t)(rate * (double)part_of(&c->ranks[c->rank], ON_CPU));
    const int64_t median = others_median(c, READY);
    return by_rate > median ? by_rate : median;
}

/* Finds the part that explains the excess. Measured time is tried before time that would follow
 * from it: on a busy machine a little more work could explain any excess by the waiting for a CPU
 * that it causes. */
static enum part find_part(const struct compared *c, struct pw_cause_found *found)
{
    const struct pw_usage *u = &c->ranks[c->rank];
    double rate = (double)others_rate(c) / 1024;
    int64_t on_cpu = others_median(c, ON_CPU);
    enum part best = PARTS;
    weigh(u, (struct excess){ON_CPU, on_cpu, 1}, found, &best);
    weigh(u, (struct excess){READY, usual_ready(c, rate), 1}, found, &best);
    weigh(u, (struct excess){OFF_CPU, others_median(c, OFF_CPU), 1}, found, &best);
    if (best == PARTS || best == ON_CPU)
        weigh(u, (struct excess){ON_CPU, on_cpu, 1 + rate}, found, &best);
    found->share = found->share > 1 ? 1 : found->share;
    return best;
}

struct pw_cause_found pw_cause_find(const struct pw_usage *ranks, size_t nranks, size_t rank,
                                    enum pw_phase phase, int64_t *scratch)
{
    struct pw_cause_found found = {.cause = PW_CAUSE_UNKNOWN};
    const struct pw_usage *u = &ranks[rank];
    const struct compared compared = {ranks, nranks, rank, scratch};
    int64_t own = others_median(&compared, PARTS);
    found.excess_ns = own < 0 ? 0 : u->own_ns - own;
    if (!is_known(u) || u->samples < LEAST_SAMPLES || found.excess_ns <= 0)
        return found;

    enum part best = find_part(&compared, &found);
    int64_t more = found.part_ns - found.others_part_ns;
    found.is_on_cpu = best == ON_CPU;
    if (best == ON_CPU)
        found.cause = PW_CAUSE_MORE_CPU_WORK;
    else if (best == READY)
        found.cause = u->throttled_ns - others_count(&compared, throttled) >= more / PW_QUOTA_PARTS
                          ? PW_CAUSE_CGROUP_THROTTLING
                          : PW_CAUSE_CPU_CONTENTION;
    else if (best == OFF_CPU)
        found.cause = refine_off(&compared, phase, more);
    return found;
}

void pw_cause_refine_rare(const struct pw_usage *ranks, size_t nranks, size_t rank,
                          struct pw_cause_found *found, int64_t *scratch)
{
    const struct compared compared = {ranks, nranks, rank, scratch};
    if (found->cause != PW_CAUSE_MORE_CPU_WORK)
        return;
    const int64_t more_io = ranks[rank].io_bytes - others_count(&compared, io);
    const int64_t more_ns = found->part_ns - found->others_part_ns;
    const int has_children = ranks[rank].child_faults > others_count(&compared, child_faults);
    if (!has_children && more_io > 0 && more_io >= more_ns / PW_CAUSE_WORK_NS_PER_BYTE)
        found->cause = PW_CAUSE_FILE_IO;
}

/* Median of `values` over the ranks other than `rank` for which both arrays are known; -1 when
 * there is none. */
static int64_t median_of(const int64_t *values, const int64_t *other, size_t nranks, size_t rank,
                         int64_t *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        if (r != rank && values[r] >= 0 && other[r] >= 0)
            scratch[n++] = values[r];
    return n ? pw_median_i64(scratch, n) : -1;
}

struct pw_growth pw_cause_growth(const int64_t *op_ns, const int64_t *own_ns, size_t nranks,
                                 size_t rank, int64_t *scratch)
{
    struct pw_growth growth = {.share = 0, .mine_ns = op_ns[rank]};
    int64_t own = median_of(own_ns, op_ns, nranks, rank, scratch);
    growth.others_ns = median_of(op_ns, own_ns, nranks, rank, scratch);
    if (own < 0 || own_ns[rank] <= own || op_ns[rank] <= growth.others_ns)
        return growth;
    growth.share = (double)(op_ns[rank] - growth.others_ns) / (double)(own_ns[rank] - own);
    growth.share = growth.share > 1 ? 1 : growth.share;
    return growth;
}

/* A rank that collects garbage for less than this times as long as the others does as they do:
 * equal collections take longer on a rank that is slow for another reason. */
enum { WORKS_ALIKE = 2 };

/* A rank that does it this many times as long does it alone. */
enum { WORKS_ALONE = 10 };

struct pw_runtimework pw_cause_runtimework(const int64_t *work_ns, size_t nranks, size_t rank,
                                           int64_t lost_ns, int64_t *scratch)
{
    struct pw_runtimework found = {.mine_ns = work_ns[rank]};
    const int64_t others_ns = median_of(work_ns, work_ns, nranks, rank, scratch);
    /* Written without a product: the numbers are from files. */
    if (others_ns < 0 || lost_ns <= 0 || found.mine_ns / WORKS_ALIKE < others_ns ||
        found.mine_ns <= others_ns)
        return found;
    found.others_ns = others_ns;
    found.share = (double)(found.mine_ns - others_ns) / (double)lost_ns;
    found.share = found.share > 1 ? 1 : found.share;
    return found;
}

bool pw_cause_may_be_runtimework(int cause, const struct pw_runtimework *work)
{
    switch (cause) {
    case PW_CAUSE_CPU_CONTENTION:
    case PW_CAUSE_CGROUP_THROTTLING:
    case PW_CAUSE_PAGE_FAULTS:
        return work->is_of_program && work->mine_ns / WORKS_ALONE >= work->others_ns;
    case PW_CAUSE_STOPPED:
    case PW_CAUSE_HOST_FROZEN:
    case PW_CAUSE_LATE_START:
        return false;
    default:
        return true;
    }
}

/* ---- the GPU of the straggler ---- */

enum { LEAST_GPU_SAMPLES = 3 };

enum gpu_part { OWN, COMPUTE, DRY, CLOCK };

static bool is_gpu_known(const struct pw_gpu_usage *u)
{
    return u->own_ns >= 0 && u->compute_ns >= 0 && u->dry_ns >= 0;
}

/* -1: not known. Clocks in kHz, so that they can be compared as whole numbers. */
static int64_t gpu_part_of(const struct pw_gpu_usage *u, enum gpu_part part)
{
    if (part == CLOCK)
        return u->clocks.samples >= LEAST_GPU_SAMPLES
                   ? (int64_t)(1000 * pw_gpu_clocks_mean(&u->clocks))
                   : -1;
    return !is_gpu_known(u)  ? -1
           : part == OWN     ? u->own_ns
           : part == COMPUTE ? u->compute_ns
                             : u->dry_ns;
}

static int64_t others_gpu_median(const struct pw_gpu_usage *ranks, size_t nranks, size_t rank,
                                 enum gpu_part part, int64_t *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < nranks; r++)
        if (r != rank && gpu_part_of(&ranks[r], part) >= 0)
            scratch[n++] = gpu_part_of(&ranks[r], part);
    return n ? pw_median_i64(scratch, n) : -1;
}

/* The cause of `more_ns` more time computing on the GPU. */
static enum pw_cause refine(const struct pw_gpu_usage *u, int64_t more_ns, int64_t others_khz)
{
    int64_t khz = gpu_part_of(u, CLOCK);
    bool lower = khz >= 0 && others_khz > 0 && (double)khz < PW_CLOCKS_LOWER * (double)others_khz;
    if (lower && (double)u->clocks.slowed >= PW_CLOCKS_SLOWED_SHARE * (double)u->clocks.samples)
        return PW_CAUSE_GPU_CLOCKS_THROTTLED;
    if (u->slowdown < 0)
        return PW_CAUSE_UNKNOWN;
    double slower_ns = (double)u->compute_ns * (1 - 1 / (u->slowdown > 0 ? u->slowdown : 1));
    if (slower_ns >= 0.5 * (double)more_ns)
        return u->confidence >= PW_KERNELS_SURE ? PW_CAUSE_SLOWER_KERNELS : PW_CAUSE_UNKNOWN;
    return PW_CAUSE_MORE_GPU_WORK;
}

struct pw_gpu_cause_found pw_gpu_cause_find(const struct pw_gpu_usage *ranks, size_t nranks,
                                            size_t rank, int64_t *scratch)
{
    const struct pw_gpu_usage *u = &ranks[rank];
    struct pw_gpu_cause_found found = {.cause = PW_CAUSE_UNKNOWN, .others_mhz = -1};
    int64_t own = others_gpu_median(ranks, nranks, rank, OWN, scratch);
    int64_t compute = others_gpu_median(ranks, nranks, rank, COMPUTE, scratch);
    int64_t dry = others_gpu_median(ranks, nranks, rank, DRY, scratch);
    int64_t khz = others_gpu_median(ranks, nranks, rank, CLOCK, scratch);
    found.others_mhz = khz < 0 ? -1 : (double)khz / 1000;
    if (!is_gpu_known(u) || own < 0 || u->own_ns <= own)
        return found;
    int64_t excess = u->own_ns - own, more = u->compute_ns - compute, drier = u->dry_ns - dry;
    if (2 * (more > drier ? more : drier) < excess)
        return found;
    found.part_ns = more >= drier ? u->compute_ns : u->dry_ns;
    found.others_part_ns = more >= drier ? compute : dry;
    found.cause = more >= drier ? refine(u, more, khz) : PW_CAUSE_HOST_BOUND;
    return found;
}

/* Measures in each bin how long other processes use the CPUs that a rank may use. */

struct measuring {
    const struct pw_bound_input *in;
    const struct pw_bound *out;
    int64_t *order, *begin; /* ranks sorted by host; [nranks + 1] where each host begins in it */
    int64_t *share, *cpus;  /* of the ranks of one host, sorted: use by others for each CPU, and
                               number of CPUs */
    size_t nhosts;
};

size_t pw_bound_scratch(const struct pw_bound_input *in)
{
    return sizeof(int64_t) * (4 * in->nranks + 2);
}

static const struct pw_row_c_bin_trace *row_at(const struct pw_bound_input *in, size_t bin,
                                               size_t rank)
{
    return &in->rows[bin * in->nranks + rank];
}

static int is_bin_known(const struct pw_row_c_bin_trace *row)
{
    return row->cpus > 0 && row->cpus_busy_ns >= 0 && row->process_ns >= 0 && row->wait_ns >= 0;
}

static int64_t limited(double value, int64_t most)
{
    return value < 0 ? 0 : value < (double)most ? (int64_t)value : most;
}

/* Sorts the ranks by host. */
static void sort_by_host(struct measuring *m)
{
    const struct pw_bound_input *in = m->in;
    for (size_t h = 0; h <= in->nranks; h++)
        m->begin[h] = 0;
    for (size_t r = 0; r < in->nranks; r++)
        m->begin[in->host_of[r] + 1]++;
    for (size_t h = 0; h < in->nranks; h++) {
        m->nhosts = m->begin[h + 1] ? h + 1 : m->nhosts;
        m->begin[h + 1] += m->begin[h];
        m->share[h] = m->begin[h];
    }
    for (size_t r = 0; r < in->nranks; r++)
        m->order[m->share[in->host_of[r]]++] = (int64_t)r;
}

/* 1 when the rank of `row` ran on CPUs of the rank of `of`, as far as is known: all its CPUs are
 * among those, or it was sampled on one of them. */
static int was_there(const struct pw_row_c_bin_trace *row, const struct pw_row_c_bin_trace *of)
{
    if (row->cpu_lowest >= of->cpu_lowest && row->cpu_highest <= of->cpu_highest)
        return 1;
    return row->processor >= of->cpu_lowest && row->processor <= of->cpu_highest;
}

static int is_wider(const struct pw_row_c_bin_trace *row, const struct pw_row_c_bin_trace *than)
{
    return row->cpus > than->cpus && row->cpu_lowest <= than->cpu_lowest &&
           row->cpu_highest >= than->cpu_highest;
}

static int64_t others_on(const struct measuring *m, size_t bin, size_t host, size_t rank)
{
    const struct pw_row_c_bin_trace *mine = row_at(m->in, bin, rank);
    double used = 0;
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const struct pw_row_c_bin_trace *row = row_at(m->in, bin, (size_t)m->order[i]);
        used += was_there(row, mine) ? (double)row->process_ns : 0;
    }
    return limited((double)mine->cpus_busy_ns - used, INT64_MAX / 2);
}

/* The least use by others of the rank's CPUs and of all larger sets that contain them: other
 * processes cannot use more of a set than of a larger set. */
static int64_t least_of_wider(const struct measuring *m, size_t bin, size_t host, size_t rank)
{
    const struct pw_row_c_bin_trace *mine = row_at(m->in, bin, rank);
    int64_t least = m->out->others_ns[bin * m->in->nranks + rank];
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const size_t r = (size_t)m->order[i];
        const int64_t theirs = m->out->others_ns[bin * m->in->nranks + r];
        if (is_wider(row_at(m->in, bin, r), mine) && theirs < least)
            least = theirs;
    }
    return least;
}

static int64_t kept_from(const struct pw_row_c_bin_trace *row, int64_t others, int64_t bin_ns)
{
    const double own = (double)(bin_ns - row->wait_ns - row->outside_ns);
    const double throttled = row->throttled_ns > 0 ? (double)row->throttled_ns : 0;
    const double ready = (double)limited((double)row->ready_ns - throttled, bin_ns);
    const double free_for = (double)row->cpus_busy_ns - (double)row->process_ns;
    const double share = free_for > 0 ? (double)others / free_for : 0;
    return limited((ready < own ? ready : own) * (share < 1 ? share : 1), bin_ns);
}

static int64_t median_without(const int64_t *sorted, size_t n, int64_t value)
{
    return pw_median_without_i64(sorted, n, value);
}

/* Sets `beside` for the ranks of a host, all of which must be known in the bin. */
static void compare(struct measuring *m, size_t bin, size_t host)
{
    const struct pw_bound_input *in = m->in;
    const int64_t *order = m->order + m->begin[host];
    const size_t n = (size_t)(m->begin[host + 1] - m->begin[host]);
    for (size_t i = 0; i < n; i++) {
        const size_t cell = bin * in->nranks + (size_t)order[i];
        m->share[i] = m->out->others_ns[cell] / in->rows[cell].cpus;
        m->cpus[i] = in->rows[cell].cpus;
    }
    pw_sort_i64(m->share, n);
    pw_sort_i64(m->cpus, n);
    for (size_t i = 0; i < n && n > 1; i++) {
        const size_t cell = bin * in->nranks + (size_t)order[i];
        const int64_t cpus = in->rows[cell].cpus, share = m->out->others_ns[cell] / cpus;
        const double usual = (double)median_without(m->share, n, share);
        const int is_narrow = 2 * cpus <= median_without(m->cpus, n, cpus);
        if ((double)share >= PW_BOUND_SHARE * (double)in->bin_ns &&
            (double)share >= (is_narrow ? PW_BOUND_FEWER_CPUS : PW_BOUND_MORE) * usual)
            m->out->beside[cell] = is_narrow ? PW_BESIDE_NARROW : PW_BESIDE;
    }
}

static void measure_host(struct measuring *m, size_t bin, size_t host)
{
    const struct pw_bound_input *in = m->in;
    int known = 1;
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++)
        known &= is_bin_known(row_at(in, bin, (size_t)m->order[i]));
    if (!known)
        return;
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const size_t r = (size_t)m->order[i];
        m->out->others_ns[bin * in->nranks + r] = others_on(m, bin, host, r);
    }
    for (int64_t i = m->begin[host]; i < m->begin[host + 1]; i++) {
        const size_t r = (size_t)m->order[i], cell = bin * in->nranks + r;
        m->out->others_ns[cell] = least_of_wider(m, bin, host, r);
        m->out->kept_ns[cell] = kept_from(row_at(in, bin, r), m->out->others_ns[cell], in->bin_ns);
    }
    compare(m, bin, host);
}

void pw_bound_measure(const struct pw_bound_input *in, void *scratch, const struct pw_bound *out)
{
    int64_t *room = scratch;
    const size_t n = in->nranks;
    struct measuring m = {in, out, room, room + n, room + 2 * n + 2, room + 3 * n + 2, 0};
    int all = 1;
    for (size_t i = 0; i < in->nbins * n; i++) {
        out->others_ns[i] = out->kept_ns[i] = -1;
        out->beside[i] = PW_BESIDE_NOT;
    }
    for (size_t r = 0; in->nbins && r < n; r++)
        all &= row_at(in, 0, r)->wait_ns >= 0;
    if (!all)
        return; /* the processes of a rank without a file would count as others */
    sort_by_host(&m);
    for (size_t i = 0; i < in->nbins; i++)
        for (size_t h = 0; h < m.nhosts; h++)
            measure_host(&m, i, h);
}

/* The first bin from which on the rank may use the same CPUs as in `bin`; -1: not known. */
static ptrdiff_t bound_since(const struct pw_bound_input *in, size_t rank, size_t bin)
{
    const uint64_t set = row_at(in, bin, rank)->cpu_set;
    for (size_t i = bin; i > 0; i--) {
        const struct pw_row_c_bin_trace *before = row_at(in, i - 1, rank);
        if (before->cpus <= 0)
            return -1;
        if (before->cpu_set != set)
            return (ptrdiff_t)i;
    }
    return -1;
}

int pw_bound_look(const struct pw_bound_input *in, const struct pw_bound *bound,
                  struct pw_bound_where where, int64_t *scratch, struct pw_bound_found *found)
{
    const size_t rank = where.rank, first = where.first, last = where.last;
    size_t bins = 0, middle = first;
    double others = 0, time = 0;
    for (size_t i = first; i <= last && i < in->nbins; i++) {
        if (!bound->beside[i * in->nranks + rank])
            continue;
        others += (double)bound->others_ns[i * in->nranks + rank];
        time += (double)row_at(in, i, rank)->cpus * (double)in->bin_ns;
        bins++;
        if (i <= first + (last - first) / 2 || bins == 1)
            middle = i;
    }
    if (!bins || 2 * bins < last - first + 1)
        return 0;
    const struct pw_row_c_bin_trace *row = row_at(in, middle, rank);
    size_t n = 0;
    for (size_t r = 0; r < in->nranks; r++)
        if (r != rank && in->host_of[r] == in->host_of[rank])
            scratch[n++] = row_at(in, middle, r)->cpus;
    *found = (struct pw_bound_found){
        .cpus = row->cpus,
        .lowest = row->cpu_lowest,
        .highest = row->cpu_highest,
        .others_cpus = n ? (int)pw_median_i64(scratch, n) : 0,
        .share = others / time < 1 ? others / time : 1,
        .since = bound_since(in, rank, middle),
    };
    return 1;
}
