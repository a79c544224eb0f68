/* Sums of e-values over onsets and effects, and what they need; see alarm.h. */
#include "analysis/alarm.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"

#define DAY_NS (86400 * 1e9)
/* Of the sums that measure dependence, and of the means, one part in so many is forgotten with
 * each block. */
#define MEMORY 2048
#define MEMORY_OF_MEANS 64
/* Standard errors of sums of successive differences, which share places, are that much larger than
 * those of independent terms. */
#define SHARED_PLACES 1.4142
static const double effects[PW_ALARM_EFFECTS] = {0.25, 0.5, 1, 2, 4};

size_t pw_alarm_size(size_t nranks)
{
    return nranks * (sizeof(struct pw_alarm_rank) + sizeof(int64_t)) +
           PW_ALARM_EFFECTS * (2 * nranks + 3) * sizeof(double);
}

static void forget_dependence(struct pw_alarm *a)
{
    a->dependence = (struct pw_alarm_dependence){0};
    a->spread_ns = -1;
    a->tested = 0;
    for (size_t r = 0; r < a->setup.nranks; r++)
        for (size_t i = 0; i <= PW_ALARM_LAGS; i++)
            a->ranks[r].places[i] = NAN;
}

void pw_alarm_init(struct pw_alarm *a, const struct pw_alarm_setup *setup, void *memory)
{
    const size_t n = setup->nranks;
    *a = (struct pw_alarm){.setup = *setup, .ranks = memory, .block = 1};
    a->peers.f = (double *)(void *)(a->ranks + n);
    a->slow.f = a->peers.f + PW_ALARM_EFFECTS * (n + 1);
    a->sorted = (int64_t *)(void *)(a->slow.f + PW_ALARM_EFFECTS * (n + 2));
    memset(memory, 0, pw_alarm_size(n));
    forget_dependence(a);
}

/* ---- places ---- */

static void make_table(struct pw_alarm_table *table, size_t n)
{
    if (table->n == n)
        return;
    for (size_t e = 0; e < PW_ALARM_EFFECTS; e++) {
        double *row = &table->f[e * n], sum = 0;
        for (size_t k = 0; k < n; k++) {
            row[k] = effects[e] * pw_normal_quantile(((double)k + 0.5) / (double)n);
            sum += exp(row[k]);
        }
        table->log_mean[e] = log(sum / (double)n);
        for (size_t k = 0; k < n; k++)
            row[k] = exp(row[k] - table->log_mean[e]);
    }
    table->n = n;
}

/* So many peers with the least work are left out: a rank may have less than all others. */
static size_t light_of(size_t n)
{
    return n > 2;
}

/* Sorts the work of the ranks that can be peers. */
static size_t sort_peers(struct pw_alarm *a)
{
    size_t n = 0;
    for (size_t r = 0; r < a->setup.nranks; r++)
        if (!a->ranks[r].is_slow && a->ranks[r].block_ns >= 0)
            a->sorted[n++] = a->ranks[r].block_ns;
    pw_sort_i64(a->sorted, n);
    return n;
}

/* ---- dependence ---- */

static double rho_of(const struct pw_alarm *a)
{
    const struct pw_alarm_dependence *d = &a->dependence;
    return d->all_far > 0 ? 1 - d->all_near / d->all_far : 0;
}

static double rho_error(const struct pw_alarm *a)
{
    const struct pw_alarm_dependence *d = &a->dependence;
    if (d->blocks < PW_ALARM_FEWEST || (d->changed && d->changed < PW_ALARM_FEWEST))
        return INFINITY;
    if (!d->changed)
        return 0; /* ranks whose order never changes differ for ever */
    const double q = d->all_near / d->all_far;
    const double squares = d->near_near - 2 * q * d->near_far + q * q * d->far_far;
    return SHARED_PLACES * sqrt(squares > 0 ? squares : 0) / d->all_far;
}

/* How many times as much variance sums of scores may have as sums of independent ones. */
static double inflation(const struct pw_alarm *a)
{
    double rho = rho_of(a) + rho_error(a);
    rho = rho < 0 ? 0 : rho < PW_ALARM_RHO_CEILING ? rho : PW_ALARM_RHO_CEILING;
    return (1 + rho) / (1 - rho);
}

/* `place`: 0..1. */
static void note_place(struct pw_alarm *a, struct pw_alarm_rank *rank, float place)
{
    enum { RING = PW_ALARM_LAGS + 1 };
    const size_t at = (size_t)(a->dependence.blocks % RING);
    const float last = rank->places[(at + RING - 1) % RING], early = rank->places[(at + 1) % RING];
    rank->places[at] = place;
    if (isnan(place) || isnan(last) || isnan(early))
        return;
    a->dependence.near += (double)((place - last) * (place - last));
    a->dependence.far += (double)((place - early) * (place - early));
}

static void add_forgetting(double *sum, double value)
{
    *sum += value - *sum / MEMORY;
}

static void judge_dependence(struct pw_alarm *a)
{
    struct pw_alarm_dependence *d = &a->dependence;
    add_forgetting(&d->all_near, d->near);
    add_forgetting(&d->all_far, d->far);
    add_forgetting(&d->near_near, d->near * d->near);
    add_forgetting(&d->near_far, d->near * d->far);
    add_forgetting(&d->far_far, d->far * d->far);
    d->changed += d->near > 0 || d->far > 0;
    d->near = d->far = 0;
    d->blocks++;
    const int is_seen = rho_of(a) - PW_ALARM_ERRORS * rho_error(a) > PW_ALARM_DEPENDENCE;
    /* The places of two ranks tell too little of how long noise lasts. */
    a->is_uncalibrated = a->setup.all_ranks < 3 || (is_seen && a->block == PW_ALARM_BLOCK);
    if (is_seen && a->block < PW_ALARM_BLOCK) {
        a->block *= 2;
        forget_dependence(a);
    }
}

/* ---- evidence ---- */

static struct pw_alarm_sums since(const struct pw_alarm_sums *now, const struct pw_alarm_sums *from)
{
    return (struct pw_alarm_sums){.excess_ns = now->excess_ns - from->excess_ns,
                                  .cost_ns = now->cost_ns - from->cost_ns,
                                  .steps = now->steps - from->steps,
                                  .step = from->step};
}

double pw_alarm_excess_ns(const struct pw_alarm_rank *rank)
{
    const struct pw_alarm_sums sums = since(&rank->sums, &rank->from);
    return sums.steps ? sums.excess_ns / (double)sums.steps : 0;
}

static void clear(struct pw_alarm_rank *rank)
{
    for (size_t e = 0; e < PW_ALARM_EFFECTS; e++)
        rank->tracks[e].evidence = rank->tracks[e].rise = 0;
}

/* The evidence rested on less dependence than there is. */
static void clear_peers(struct pw_alarm *a)
{
    for (size_t r = 0; r < a->setup.nranks; r++)
        if (!a->ranks[r].is_slow)
            clear(&a->ranks[r]);
}

/* The block that is judged. */
struct block {
    size_t n;      /* peers */
    double budget; /* of a rank */
    int64_t delta_ns;
    double shrink[PW_ALARM_EFFECTS]; /* what dependence takes from f */
    double shrink_slow[PW_ALARM_EFFECTS];
};

/* Returns the evidence of all effects after the place k of the table. */
static double add_evidence(struct pw_alarm *a, const struct block *block,
                           struct pw_alarm_rank *rank, size_t k)
{
    const double budget = rank->is_slow ? PW_ALARM_END : block->budget;
    const struct pw_alarm_table *table = rank->is_slow ? &a->slow : &a->peers;
    const double *shrink = rank->is_slow ? block->shrink_slow : block->shrink;
    double evidence = 0;
    if (a->dependence.blocks < PW_ALARM_FEWEST)
        return 0;
    for (size_t e = 0; e < PW_ALARM_EFFECTS; e++) {
        struct pw_alarm_track *track = &rank->tracks[e];
        const double f = table->f[e * table->n + k] * shrink[e];
        track->evidence = (track->evidence + budget) * f;
        evidence += track->evidence / PW_ALARM_EFFECTS;
        if (track->rise <= 1) {
            track->rise = 1;
            track->from = rank->sums;
        }
        track->rise *= f;
    }
    return evidence;
}

/* Returns 0 when the excess is too small for an alarm, or more than half of the ranks would be
 * slow: then their work is unequal. */
static int begin(struct pw_alarm *a, struct pw_alarm_rank *rank, double least_ns)
{
    size_t best = 0;
    for (size_t e = 1; e < PW_ALARM_EFFECTS; e++)
        best = rank->tracks[e].rise > rank->tracks[best].rise ? e : best;
    rank->from = rank->tracks[best].from;
    clear(rank);
    if (pw_alarm_excess_ns(rank) < least_ns || 2 * (a->nslow + 1) > a->setup.all_ranks)
        return 0;
    a->nslow++;
    rank->is_slow = 1;
    rank->change = PW_ALARM_BEGUN;
    return 1;
}

/* Returns whether the rank's alarm begins. */
static int judge_peer(struct pw_alarm *a, const struct block *block, struct pw_alarm_rank *rank)
{
    const int64_t ns = rank->block_ns;
    note_place(a, rank, (float)pw_place_i64(a->sorted, block->n, ns) / (float)block->n);
    const size_t k = pw_place_i64(a->sorted, block->n, ns - block->delta_ns);
    const size_t light = light_of(block->n);
    return add_evidence(a, block, rank, k > light ? k - light : 0) >= 1;
}

static int judge_slow(struct pw_alarm *a, const struct block *block, struct pw_alarm_rank *rank)
{
    double half = pw_alarm_excess_ns(rank) * a->block / 2;
    half = half > (double)block->delta_ns ? half : (double)block->delta_ns;
    size_t k = pw_place_i64(a->sorted, block->n, rank->block_ns - (int64_t)half);
    k = block->n - k;
    return add_evidence(a, block, rank, k) >= 1;
}

static void add_sums(const struct pw_alarm *a, const struct block *block,
                     struct pw_alarm_rank *rank, int64_t step)
{
    const int64_t others = rank->is_slow || block->n < 2
                               ? a->sorted[(block->n - 1) / 2]
                               : pw_median_without_i64(a->sorted, block->n, rank->block_ns);
    rank->sums.excess_ns += (double)(rank->block_ns - others);
    rank->sums.steps += a->block;
    rank->sums.step = step;
}

/* A step is as long as the most work in it: the rank with the most costs what it has more than the
 * most of the others that are in no alarm. */
static void add_cost(struct pw_alarm *a, const int64_t *own_ns)
{
    size_t most = 0;
    int64_t next_ns = -1;
    for (size_t r = 1; r < a->setup.nranks; r++)
        most = own_ns[r] > own_ns[most] ? r : most;
    for (size_t r = 0; r < a->setup.nranks; r++)
        if (r != most && !a->ranks[r].is_slow && own_ns[r] > next_ns)
            next_ns = own_ns[r];
    if (next_ns >= 0)
        a->ranks[most].sums.cost_ns += (double)(own_ns[most] - next_ns);
}

static void update(double *mean, double value)
{
    *mean = *mean > 0 ? *mean + (value - *mean) / MEMORY_OF_MEANS : value;
}

static struct block prepare(struct pw_alarm *a)
{
    const double kappa = inflation(a);
    struct block block = {
        .n = sort_peers(a),
        .budget =
            a->setup.alarms_per_day * (double)a->block_ns / DAY_NS / (double)a->setup.all_ranks,
        .delta_ns = (int64_t)(a->setup.delta * (double)a->block_ns),
    };
    a->npeers = block.n;
    if (!block.n)
        return block;
    make_table(&a->peers, block.n - light_of(block.n));
    make_table(&a->slow, block.n + 1);
    for (size_t e = 0; e < PW_ALARM_EFFECTS; e++) {
        block.shrink[e] = exp(-(kappa - 1) * a->peers.log_mean[e]);
        block.shrink_slow[e] = exp(-(kappa - 1) * a->slow.log_mean[e]);
    }
    const int64_t range =
        pw_quantile_i64(a->sorted, block.n, 0.75) - pw_quantile_i64(a->sorted, block.n, 0.25);
    update(&a->spread_ns, (double)range / (2 * pw_normal_quantile(0.75)));
    return block;
}

/* Judges a block of steps. Returns the number of alarms that began or ended. */
static size_t judge(struct pw_alarm *a, int64_t step)
{
    const struct block block = prepare(a);
    size_t changes = 0;
    if (!block.n)
        return 0;
    for (size_t r = 0; r < a->setup.nranks; r++) {
        struct pw_alarm_rank *rank = &a->ranks[r];
        const int was_slow = rank->is_slow;
        if (!rank->sums.steps)
            rank->sums.step = step - a->block;
        if (rank->block_ns < 0 || (!was_slow && block.n < 2)) {
            note_place(a, rank, NAN);
            continue;
        }
        int changed = was_slow ? judge_slow(a, &block, rank) : judge_peer(a, &block, rank);
        add_sums(a, &block, rank, step);
        if (changed && was_slow) {
            a->nslow--;
            rank->is_slow = 0;
            rank->change = PW_ALARM_ENDED;
            clear(rank);
        } else if (changed) {
            changed = begin(a, rank, (double)block.delta_ns / a->block);
        }
        if (was_slow)
            note_place(a, rank, NAN);
        changes += changed != 0;
    }
    a->tested += block.n > 1 && a->dependence.blocks >= PW_ALARM_FEWEST ? a->block : 0;
    const int block_before = a->block;
    judge_dependence(a);
    if (a->block != block_before)
        clear_peers(a);
    return changes;
}

size_t pw_alarm_step(struct pw_alarm *a, int64_t step, int64_t length_ns, const int64_t *own_ns)
{
    for (size_t r = 0; r < a->setup.nranks; r++) {
        struct pw_alarm_rank *rank = &a->ranks[r];
        rank->change = PW_ALARM_SAME;
        const int64_t before = a->block_filled ? rank->block_ns : 0;
        rank->block_ns = own_ns[r] < 0 || before < 0 ? -1 : before + own_ns[r];
    }
    add_cost(a, own_ns);
    update(&a->step_ns, (double)length_ns);
    a->block_ns = a->block_filled ? a->block_ns + length_ns : length_ns;
    if (++a->block_filled < a->block)
        return 0;
    a->block_filled = 0;
    return judge(a, step);
}

double pw_alarm_delay(const struct pw_alarm *a, double share)
{
    const double excess_ns = (share - a->setup.delta) * a->step_ns * a->block;
    if (a->dependence.blocks < PW_ALARM_FEWEST || a->npeers < 2 || a->spread_ns < 0 ||
        excess_ns <= 0 || a->step_ns <= 0)
        return -1;
    const double budget =
        a->setup.alarms_per_day * a->step_ns * a->block / DAY_NS / (double)a->setup.all_ranks;
    const double most = log((double)(a->npeers - light_of(a->npeers)));
    const double effect = a->spread_ns > 0 ? excess_ns / a->spread_ns : INFINITY;
    double growth = effect * effect / 2 / inflation(a);
    growth = growth < most ? growth : most;
    return ceil(log(PW_ALARM_EFFECTS / budget) / growth) * a->block;
}
