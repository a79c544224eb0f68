/* Finds the stretch with the largest loss for each rank and kind of loss, and judges it by a table
 * of limits; see stretch.h. */
#include "analysis/stretch.h"

#include "analysis/cause.h"
#include "analysis/statistics.h"
#include "analysis/thresholds.h"

#define UNKNOWN INT64_MIN

enum kind {
    FROZEN,
    STOPPED,
    STOPPED_INSIDE,
    QUOTA,
    DISK,
    SLEEP,
    BOUND,
    CONTENTION,
    WORK,
    ANY,
    KINDS
};

/* Limits for each kind of loss. Losses that only a fault causes count from 1 % of the run on. Other
 * kinds also differ between ranks of a busy machine: for these, the loss must be larger, and the
 * other ranks must have lost less, both in the same stretch and in their own worst stretches, which
 * show the effect of chance. */
static const struct rule {
    enum pw_cause cause;
    double floor;      /* least loss, as a share of the run */
    double floor_of_2; /* the same for two ranks, when it is unknown which one is normal */
    double most_next;  /* largest loss of another rank in the stretch, as a share of the loss */
    double most_ever;  /* largest loss of another rank in its own worst stretch; 0: no limit */
    double density;    /* least loss, as a share of the stretch's length */
} rules[KINDS] = {
    [FROZEN] = {PW_CAUSE_HOST_FROZEN, 0.01, 0.01, 0.5, 0, 0},
    [STOPPED] = {PW_CAUSE_STOPPED, 0.01, 0.01, 0.5, 0, 0},
    [STOPPED_INSIDE] = {PW_CAUSE_STOPPED, 0.01, 0.01, 0.5, 0, 0},
    [QUOTA] = {PW_CAUSE_CGROUP_THROTTLING, 0.01, 0.01, 0.5, 0, 0},
    [DISK] = {PW_CAUSE_FILE_IO, 0.04, 0.04, 0.34, 0.5, 0},
    [SLEEP] = {PW_CAUSE_BLOCKED_OFF_CPU, 0.04, 0.04, 0.34, 0.5, 0},
    [BOUND] = {PW_CAUSE_CPU_CONTENTION, 0.04, 0.04, 0.5, 0.5, 0.15},
    [CONTENTION] = {PW_CAUSE_CPU_CONTENTION, 0.04, 0.10, 0.34, 0.5, 0.3},
    [WORK] = {PW_CAUSE_MORE_CPU_WORK, 0.05, 0.20, 0.34, 0.5, 0.15},
    [ANY] = {PW_CAUSE_UNKNOWN, 0.08, 0.20, 0.25, 0.5, 0.3},
};

struct search {
    const struct pw_stretch_input *in;
    int64_t *amount, *excess; /* [nbins * nranks] of one kind */
    int64_t *values, *sorted; /* [nranks] */
    int64_t *ever;            /* [nranks] */
    size_t known;             /* number of ranks that are known */
};

size_t pw_stretch_scratch(const struct pw_stretch_input *in)
{
    return sizeof(int64_t) * (2 * in->nbins + 3) * in->nranks;
}

static int64_t limited(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value < most ? value : most;
}

static const struct pw_row_c_bin_trace *row_at(const struct pw_stretch_input *in, size_t bin,
                                               size_t rank)
{
    return &in->rows[bin * in->nranks + rank];
}

static int is_sampled(const struct pw_row_c_bin_trace *row)
{
    return row->cpu_ns >= 0;
}

/* The time of `kind` in a bin of the rank, ns, within its own time, in which it did not wait for
 * other ranks (FROZEN and STOPPED_INSIDE: at any time inside MPI_Init .. MPI_Finalize); UNKNOWN
 * without samples. A rank sleeps inside calls while it waits, so such sleep does not count. A rank
 * that is ready without a CPU is so both in its work and in calls that spin: all of that time
 * counts as CONTENTION, and WORK is reduced by its share. */
static int64_t amount_of(const struct pw_row_c_bin_trace *row, enum kind kind, int64_t bin_ns)
{
    if (row->wait_ns < 0)
        return UNKNOWN;
    const int64_t own = limited(bin_ns - row->wait_ns - row->outside_ns, bin_ns);
    const int64_t not_own = bin_ns - own;
    int64_t left = own, parts[KINDS] = {[ANY] = own};
    if (is_sampled(row)) {
        parts[FROZEN] = limited(row->frozen_ns, bin_ns - row->outside_ns);
        left -= limited(row->frozen_ns, left);
        parts[STOPPED] = limited(row->stopped_ns, left);
        parts[STOPPED_INSIDE] = limited(row->stopped_ns, bin_ns - row->outside_ns);
        left -= parts[STOPPED];
        parts[QUOTA] = limited(row->throttled_ns, left);
        left -= parts[QUOTA];
        parts[DISK] = limited(row->disk_ns, left);
        left -= parts[DISK];
        parts[SLEEP] = limited(row->asleep_ns - not_own - row->inside_ns, left);
        left -= parts[SLEEP];
        const int64_t ready = row->ready_ns - limited(row->throttled_ns, bin_ns);
        const int64_t awake = row->cpu_ns + ready > left ? row->cpu_ns + ready : left;
        const double share = awake > 0 ? (double)limited(ready, awake) / (double)awake : 0;
        parts[CONTENTION] = limited(ready, left);
        /* The rank may have slept outside calls and spun inside calls: spinning is no work. */
        left -= limited(row->asleep_ns - parts[SLEEP], left);
        parts[WORK] = (int64_t)((1 - share) * (double)limited(left - row->inside_ns, left));
    } else if (kind < WORK) {
        return UNKNOWN;
    } else {
        parts[WORK] = limited(left - row->inside_ns, left);
    }
    return parts[kind];
}

/* The same for a cell. Time of the kind BOUND comes from pw_bound_measure(). */
static int64_t amount_at(const struct search *s, enum kind kind, size_t cell)
{
    if (kind != BOUND)
        return amount_of(&s->in->rows[cell], kind, s->in->bin_ns);
    return s->in->bound && s->in->bound->kept_ns[cell] >= 0 ? s->in->bound->kept_ns[cell] : UNKNOWN;
}

static int64_t median_of_others(struct search *s, size_t bin, size_t rank)
{
    size_t n = 0;
    for (size_t r = 0; r < s->in->nranks; r++)
        if (r != rank && s->amount[bin * s->in->nranks + r] != UNKNOWN)
            s->values[n++] = s->amount[bin * s->in->nranks + r];
    return n ? pw_median_i64(s->values, n) : UNKNOWN;
}

/* The median of the `n` sorted amounts of a bin, without one of the value `amount`. */
static int64_t median_without(const struct search *s, size_t n, int64_t amount)
{
    return pw_median_without_i64(s->sorted, n, amount);
}

/* Sets a positive excess to 0 unless the rank is bound beside others to fewer CPUs than the other
 * ranks (PW_BESIDE_NARROW). A negative excess counts always: otherwise, chance would add up while
 * other processes move between CPUs. */
static void limit_to_beside(struct search *s, size_t cell)
{
    if (s->excess[cell] != UNKNOWN && s->excess[cell] > 0 &&
        s->in->bound->beside[cell] != PW_BESIDE_NARROW)
        s->excess[cell] = 0;
}

static int is_mostly_beside(const struct search *s, const struct pw_stretch *f)
{
    size_t n = 0;
    for (size_t i = f->first; i <= f->last; i++)
        n += s->in->bound->beside[i * s->in->nranks + f->rank] == PW_BESIDE_NARROW;
    return 2 * n > f->last - f->first;
}

static void measure(struct search *s, enum kind kind)
{
    const size_t nranks = s->in->nranks;
    for (size_t i = 0; i < s->in->nbins; i++) {
        size_t n = 0;
        for (size_t r = 0; r < nranks; r++) {
            int64_t amount = amount_at(s, kind, i * nranks + r);
            s->amount[i * nranks + r] = amount;
            if (amount != UNKNOWN)
                s->sorted[n++] = amount;
        }
        pw_sort_i64(s->sorted, n);
        for (size_t r = 0; r < nranks; r++) {
            int64_t amount = s->amount[i * nranks + r];
            s->excess[i * nranks + r] =
                amount == UNKNOWN || n < 2 ? UNKNOWN : amount - median_without(s, n, amount);
            if (kind == BOUND)
                limit_to_beside(s, i * nranks + r);
        }
    }
}

static int64_t sum_of(const struct search *s, const struct pw_stretch *f, size_t rank)
{
    int64_t sum = 0;
    for (size_t i = f->first; i <= f->last; i++)
        if (s->excess[i * s->in->nranks + rank] != UNKNOWN)
            sum += s->excess[i * s->in->nranks + rank];
    return sum;
}

static int find_stretch(const struct search *s, enum kind kind, size_t rank, struct pw_stretch *f)
{
    const double edge = PW_STRETCH_EDGE * (double)s->in->bin_ns;
    double best = 0, sum = 0;
    size_t start = 0;
    *f = (struct pw_stretch){.rank = rank, .cause = rules[kind].cause, .is_bound = kind == BOUND};
    for (size_t i = 0; i < s->in->nbins; i++) {
        int64_t excess = s->excess[i * s->in->nranks + rank];
        if (sum <= 0) {
            sum = 0;
            start = i;
        }
        sum += excess == UNKNOWN ? -edge : (double)excess - edge;
        if (sum > best) {
            best = sum;
            f->first = start;
            f->last = i;
        }
    }
    f->lost_ns = best > 0 ? sum_of(s, f, rank) : 0;
    return f->lost_ns > 0;
}

/* Fills s->ever with the loss of each rank in its own worst stretch. */
static void find_worst(struct search *s, enum kind kind)
{
    for (size_t r = 0; r < s->in->nranks; r++) {
        struct pw_stretch found;
        s->ever[r] = find_stretch(s, kind, r, &found) ? found.lost_ns : 0;
    }
}

/* The largest loss of another rank in its own worst stretch; when the host is slow, of a rank on
 * another host. */
static int64_t worst_of_others(const struct search *s, const struct pw_stretch *f)
{
    const int64_t *host = s->in->host_of;
    int64_t most = 0;
    for (size_t r = 0; r < s->in->nranks; r++)
        if (r != f->rank && !(f->is_host && host[r] == host[f->rank]) && s->ever[r] > most)
            most = s->ever[r];
    return most;
}

/* Of a loss that only a fault causes, several ranks may have their own: those that lost half as
 * much or more, if they and this one are at most half of the ranks, are no reason against it.
 * Leaves in next_ns what the others lost at most. */
static void leave_out_beside(const struct search *s, struct pw_stretch *f)
{
    int64_t next = 0;
    size_t beside = 0;
    for (size_t r = 0; r < s->in->nranks; r++) {
        const int64_t sum = r == f->rank ? 0 : sum_of(s, f, r);
        if (2 * sum >= f->lost_ns)
            beside++;
        else
            next = sum > next ? sum : next;
    }
    if (!beside || f->is_host || 2 * (beside + 1) > s->known)
        return;
    f->beside = beside;
    f->next_ns = next;
}

/* Fills next_ns and is_host. */
static void compare_with_others(const struct search *s, struct pw_stretch *f)
{
    const int64_t *host = s->in->host_of;
    int64_t next = 0, elsewhere = 0, least_here = INT64_MAX;
    size_t here = 0;
    for (size_t r = 0; r < s->in->nranks; r++) {
        if (r == f->rank)
            continue;
        int64_t sum = sum_of(s, f, r);
        next = sum > next ? sum : next;
        if (host[r] != host[f->rank]) {
            elsewhere = sum > elsewhere ? sum : elsewhere;
            continue;
        }
        here++;
        least_here = sum < least_here ? sum : least_here;
    }
    /* A host is slow only when it has at most half of the ranks: otherwise its ranks decide the
     * median. */
    f->is_host = here && 2 * (here + 1) <= s->in->nranks &&
                 (double)least_here >= PW_STRETCH_OF_HOST * (double)f->lost_ns;
    f->next_ns = f->is_host ? elsewhere : next;
}

/* The time that a rank spent in calls during the stretch. */
static int64_t called_in(const struct search *s, const struct pw_stretch *f, size_t rank)
{
    int64_t sum = 0;
    for (size_t i = f->first; i <= f->last; i++) {
        const struct pw_row_c_bin_trace *row = row_at(s->in, i, rank);
        sum += row->wait_ns < 0 ? 0 : row->wait_ns + row->inside_ns;
    }
    return sum;
}

static int64_t waited_in(const struct search *s, const struct pw_stretch *f)
{
    int64_t sum = 0;
    for (size_t i = f->first; i <= f->last; i++)
        sum += row_at(s->in, i, f->rank)->wait_ns;
    return sum;
}

static int64_t least_of(const int64_t *values, size_t n)
{
    int64_t least = values[0];
    for (size_t i = 1; i < n; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* How long the others waited for the rank, ns: their median time in calls, minus the rank's own
 * waits, because no rank waits for a rank that waits as long itself. A rank that is stopped or
 * frozen also delays messages while it waits: then it is the least time of the others in calls. */
static int64_t waited_for(struct search *s, enum kind kind, const struct pw_stretch *f)
{
    const int64_t *host = s->in->host_of;
    size_t n = 0;
    for (size_t r = 0; r < s->in->nranks; r++)
        if (r != f->rank && !(f->is_host && host[r] == host[f->rank]) &&
            row_at(s->in, f->first, r)->wait_ns >= 0)
            s->values[n++] = called_in(s, f, r);
    if (!n)
        return 0;
    int64_t waited = pw_median_i64(s->values, n);
    if (kind == STOPPED_INSIDE || kind == FROZEN)
        waited = least_of(s->values, n);
    else if (kind > QUOTA)
        waited -= waited_in(s, f);
    return waited;
}

static int64_t off_in(const struct search *s, const struct pw_stretch *f, size_t rank)
{
    int64_t sum = 0;
    for (size_t i = f->first; i <= f->last; i++) {
        const struct pw_row_c_bin_trace *row = row_at(s->in, i, rank);
        sum += is_sampled(row) ? row->disk_ns + row->asleep_ns : 0;
    }
    return sum;
}

/* 1 when the rank was off the CPU for longer than the others. Where the others slept as long, as in
 * MPI_Init, the disk did not cause the loss, even if a sample saw the rank wait for it. */
static int is_longer_off(struct search *s, const struct pw_stretch *f)
{
    size_t n = 0;
    for (size_t r = 0; r < s->in->nranks; r++)
        if (r != f->rank && is_sampled(row_at(s->in, f->first, r)))
            s->values[n++] = off_in(s, f, r);
    return !n || (double)(off_in(s, f, f->rank) - pw_median_i64(s->values, n)) >=
                     PW_STRETCH_EXPLAINED * (double)f->lost_ns;
}

static int judge(struct search *s, enum kind kind, struct pw_stretch *f)
{
    const struct rule *rule = &rules[kind];
    const double run = (double)s->in->nbins * (double)s->in->bin_ns;
    const double floor = s->known == 2 ? rule->floor_of_2 : rule->floor;
    const double length = (double)(f->last - f->first + 1) * (double)s->in->bin_ns;
    if ((double)f->lost_ns < floor * run || ((double)f->lost_ns < rule->density * length &&
                                             (double)f->lost_ns < PW_STRETCH_LARGE * run))
        return 0;
    if (kind == BOUND && !is_mostly_beside(s, f))
        return 0;
    compare_with_others(s, f);
    if (kind <= QUOTA)
        leave_out_beside(s, f);
    const int64_t waited = waited_for(s, kind, f);
    if ((double)f->next_ns > rule->most_next * (double)f->lost_ns ||
        (double)waited < PW_STRETCH_WAITED * (double)f->lost_ns)
        return 0;
    if (kind == DISK && !is_longer_off(s, f))
        return 0;
    if (rule->most_ever > 0 && (double)worst_of_others(s, f) > rule->most_ever * (double)f->lost_ns)
        return 0;
    for (size_t i = f->first; i <= f->last; i++) {
        int64_t usual = median_of_others(s, i, f->rank);
        f->usual_ns += usual == UNKNOWN ? 0 : usual;
    }
    /* The loss is at most the time that the others waited: the rest of the excess is a rank that
     * slept in calls in which the others spun. */
    if (kind > QUOTA && waited < f->lost_ns) {
        f->usual_ns += f->lost_ns - waited;
        f->lost_ns = waited;
    }
    return 1;
}

/* Whether `a` is the better one of a rank's two stretches. That is the one with the larger loss,
 * unless its kind is ANY and the other explains most of the loss. */
static int is_better(const struct pw_stretch *a, const struct pw_stretch *b)
{
    if (a->cause == PW_CAUSE_UNKNOWN)
        return (double)b->lost_ns < PW_STRETCH_EXPLAINED * (double)a->lost_ns;
    if (b->cause == PW_CAUSE_UNKNOWN)
        return (double)a->lost_ns >= PW_STRETCH_EXPLAINED * (double)b->lost_ns;
    return a->lost_ns > b->lost_ns;
}

/* The bytes that the rank read and wrote in the bin, above the others' median. What all ranks read
 * and write alike, such as the sockets of their messages, explains no delay of one. */
static int64_t more_io(struct search *s, size_t bin, size_t rank)
{
    const int64_t mine = row_at(s->in, bin, rank)->io_bytes;
    size_t n = 0;
    for (size_t r = 0; r < s->in->nranks; r++)
        if (r != rank && row_at(s->in, bin, r)->io_bytes >= 0)
            s->values[n++] = row_at(s->in, bin, r)->io_bytes;
    return mine - (n ? pw_median_i64(s->values, n) : 0);
}

/* A rank that sleeps, and reads or writes more than the others in most of the bins, waits for the
 * files. One that works, and reads or writes much more for as long as it lost, works for files. */
static void refine_cause(struct search *s, struct pw_stretch *f)
{
    const double least = PW_CAUSE_LEAST_IO_PER_NS * (double)s->in->bin_ns;
    size_t with_io = 0, n = f->last - f->first + 1;
    double more = 0;
    for (size_t i = f->first; i <= f->last; i++) {
        const double in_bin = (double)more_io(s, i, f->rank);
        with_io += in_bin >= least;
        more += in_bin;
    }
    f->is_written = f->cause == PW_CAUSE_MORE_CPU_WORK &&
                    PW_CAUSE_WORK_NS_PER_BYTE * more >= (double)f->lost_ns;
    if (f->is_written)
        f->cause = PW_CAUSE_FILE_IO;
    if (f->cause == PW_CAUSE_BLOCKED_OFF_CPU && 2 * with_io > n)
        f->cause = PW_CAUSE_FILE_IO;
}

/* Without samples it is unknown what the rank did outside communication. */
static void forget_cause(const struct search *s, struct pw_stretch *f)
{
    if (f->cause == PW_CAUSE_MORE_CPU_WORK && !is_sampled(row_at(s->in, f->first, f->rank)))
        f->cause = PW_CAUSE_UNKNOWN;
}

static size_t keep_best(struct pw_stretch *out, size_t n, size_t max, const struct pw_stretch *f)
{
    for (size_t i = 0; i < n; i++)
        if (out[i].rank == f->rank) {
            if (is_better(f, &out[i]))
                out[i] = *f;
            return n;
        }
    if (n < max)
        out[n++] = *f;
    return n;
}

static struct search begin(const struct pw_stretch_input *in, void *scratch)
{
    const size_t cells = in->nbins * in->nranks;
    int64_t *room = scratch, *rest = room + 2 * cells;
    struct search s = {in, room, room + cells, rest, rest + in->nranks, rest + 2 * in->nranks, 0};
    for (size_t r = 0; r < in->nranks && in->nbins; r++)
        s.known += row_at(in, 0, r)->wait_ns >= 0;
    return s;
}

void pw_stretch_contention(const struct pw_stretch_input *in, void *scratch, int64_t *lost_ns)
{
    struct search s = begin(in, scratch);
    measure(&s, CONTENTION);
    find_worst(&s, CONTENTION);
    for (size_t r = 0; r < in->nranks; r++)
        lost_ns[r] = s.ever[r];
}

size_t pw_stretch_find(const struct pw_stretch_input *in, void *scratch, struct pw_stretch *out,
                       size_t max)
{
    struct search s = begin(in, scratch);
    size_t n = 0;
    for (enum kind kind = 0; kind < KINDS && in->nranks > 1; kind++) {
        if (in->is_unequal && kind > QUOTA)
            continue;
        measure(&s, kind);
        find_worst(&s, kind);
        for (size_t r = 0; r < in->nranks; r++) {
            struct pw_stretch found;
            if (!find_stretch(&s, kind, r, &found) || !judge(&s, kind, &found))
                continue;
            forget_cause(&s, &found);
            refine_cause(&s, &found);
            n = keep_best(out, n, max, &found);
        }
    }
    return n;
}

static int is_stopped_from_outside(enum pw_cause cause)
{
    return cause == PW_CAUSE_HOST_FROZEN || cause == PW_CAUSE_STOPPED ||
           cause == PW_CAUSE_CGROUP_THROTTLING;
}

/* By how much the others' median was longer than the rank in calls in which no rank waited. */
static int64_t longer_inside(struct search *s, const struct pw_stretch *f)
{
    size_t n = 0;
    int64_t mine = 0;
    for (size_t r = 0; r < s->in->nranks; r++) {
        int64_t inside = 0;
        for (size_t i = f->first; i <= f->last; i++)
            inside += limited(row_at(s->in, i, r)->inside_ns, s->in->bin_ns);
        if (r == f->rank)
            mine = inside;
        else if (row_at(s->in, f->first, r)->wait_ns >= 0)
            s->values[n++] = inside;
    }
    const int64_t median = n ? pw_median_i64(s->values, n) : 0;
    return median > mine ? median - mine : 0;
}

int pw_stretch_limit(const struct pw_stretch_input *in, const struct pw_stretch_waits *waits,
                     void *scratch, struct pw_stretch *f)
{
    struct search s = begin(in, scratch);
    int64_t waited = 0;
    for (size_t r = 0; r < in->nranks; r++)
        for (size_t i = f->first; i <= f->last; i++)
            waited += limited(row_at(in, i, r)->wait_ns, in->bin_ns);
    if (f->is_host || is_stopped_from_outside(f->cause) || !waited ||
        (double)waits->all_ns < PW_STRETCH_IN_COLLECTIVES * (double)waited)
        return 1;
    const int64_t most = waits->for_it_ns + longer_inside(&s, f);
    if (most >= f->lost_ns)
        return 1;
    if ((double)most < PW_STRETCH_WAITED * (double)f->lost_ns || most <= f->next_ns)
        return 0;
    f->unwaited_ns = f->lost_ns - most;
    f->lost_ns = most;
    return 1;
}

/* Finds the phase in which a rank held the job back for a stretch of the run. */

/* 1 when the cause delays a rank in every phase alike, so that the phase says nothing. */
static int is_in_any_phase(enum pw_cause cause)
{
    return cause == PW_CAUSE_STOPPED || cause == PW_CAUSE_HOST_FROZEN ||
           cause == PW_CAUSE_CGROUP_THROTTLING || cause == PW_CAUSE_CPU_CONTENTION;
}

static int64_t phase_of(const struct pw_row_c_bin_trace *row, enum pw_phase phase)
{
    const int64_t own[] = {
        [PW_PHASE_DATA] = row->data_ns,           [PW_PHASE_FORWARD] = row->forward_ns,
        [PW_PHASE_BACKWARD] = row->backward_ns,   [PW_PHASE_ALLREDUCE] = row->allreduce_ns,
        [PW_PHASE_OPTIMIZER] = row->optimizer_ns,
    };
    return own[phase] > 0 ? own[phase] : 0;
}

/* The rank's own work in the phase during the stretch. */
static int64_t work_in(const struct pw_stretch_input *in, const struct pw_stretch *found,
                       size_t rank, enum pw_phase phase)
{
    int64_t sum = 0;
    for (size_t i = found->first; i <= found->last; i++)
        sum += phase_of(&in->rows[i * in->nranks + rank], phase);
    return sum;
}

static int is_compared(const struct pw_stretch_input *in, const struct pw_stretch *found,
                       size_t rank)
{
    return rank != found->rank && in->rows[found->first * in->nranks + rank].wait_ns >= 0 &&
           !(found->is_host && in->host_of[rank] == in->host_of[found->rank]);
}

enum pw_phase pw_stretch_phase(const struct pw_stretch_input *in, void *scratch,
                               const struct pw_stretch *found)
{
    int64_t *others = scratch, most = 0;
    enum pw_phase best = PW_PHASE_NONE;
    if (is_in_any_phase(found->cause))
        return PW_PHASE_NONE;
    for (enum pw_phase phase = PW_PHASE_DATA; phase <= PW_PHASE_OPTIMIZER; phase++) {
        size_t n = 0;
        for (size_t r = 0; r < in->nranks; r++)
            if (is_compared(in, found, r))
                others[n++] = work_in(in, found, r, phase);
        const int64_t more =
            n ? work_in(in, found, found->rank, phase) - pw_median_i64(others, n) : 0;
        if (more > most && (double)more >= PW_STRETCH_IN_PHASE * (double)found->lost_ns) {
            best = phase;
            most = more;
        }
    }
    return best;
}
