/* Finds the window of each rank with the smallest chance, judges whether the rank stands out, and
 * counts stragglers by host; see straggler.h. */
#include "analysis/straggler.h"

#include "analysis/excess.h"
#include "analysis/statistics.h"
#include "core/limits.h"

/* ---- whether a late rank stands out from the others ----
 *
 * On machines that are shared or uneven, many ranks differ a little, and the slowest of them is no
 * straggler. The company of a rank are the ranks whose sum of excess is above a third of the rank's
 * in the steps that it held back, or above half of it in as many other successive steps. Except for
 * a one-off, each step counts up to 2.7 times the rank's usual excess there, as in the search for
 * windows: a rank that stalled once in these steps is no company of one that was slow in all of
 * them. The rank stands out
 *   - alone or with a company of at most a quarter of the ranks;
 *   - with a company on its own host, and at most half of the ranks: then the host is slow;
 *   - of two ranks, when its excess is two fifths of its steps, or one fifth of marked steps. */

#define COMPANY 0.34     /* of the rank's excess, in the same steps: more makes a rank company */
#define RIVAL 0.5        /* of the rank's excess, in other steps: the same */
#define MUCH_LESS 0.33   /* a rank with less positive excess in all steps together is no company */
#define MOST_COMPANY 4   /* at most every fourth rank */
#define LEAST_OF_TWO 0.4 /* of the steps */
#define LEAST_MARKED 0.2 /* of marked steps */
/* In sigma: the least median excess of a window, and the limit of one step's excess in the search
 * for windows. */
#define LEAST_EFFECT 1.5
#define CLIP 4.0

static double clipped(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* What a step counts: its excess, within the limits that the search for windows has. */
static double counted(const struct pw_straggler_found *f, int64_t excess)
{
    return f->kind == PW_STRAGGLER_ONE_OFF
               ? (double)excess
               : clipped((double)excess, CLIP / LEAST_EFFECT * (double)f->excess_ns);
}

static double sum_in_hits(const struct pw_excess *w, const struct pw_straggler_found *f,
                          size_t rank)
{
    double sum = 0;
    for (size_t s = f->first; s <= f->last; s++)
        if (pw_excess_at(w, s, f->rank) != PW_EXCESS_UNKNOWN &&
            2 * pw_excess_at(w, s, f->rank) > f->excess_ns &&
            pw_excess_at(w, s, rank) != PW_EXCESS_UNKNOWN)
            sum += counted(f, pw_excess_at(w, s, rank));
    return sum;
}

static double high(const struct pw_excess *w, const struct pw_straggler_found *f, size_t step,
                   size_t rank)
{
    int64_t excess = pw_excess_at(w, step, rank);
    return excess != PW_EXCESS_UNKNOWN && 2 * excess > f->excess_ns ? counted(f, excess) : 0;
}

/* The largest sum of high excesses that a rank has in as many successive steps as f's window has:
 * chance produces as much. */
static double worst_ever(const struct pw_excess *w, const struct pw_straggler_found *f, size_t rank)
{
    const size_t length = f->last - f->first + 1;
    double sum = 0, most = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        sum += high(w, f, s, rank) - (s < length ? 0 : high(w, f, s - length, rank));
        most = sum > most ? sum : most;
    }
    return most;
}

/* The number of ranks that ran the first step of `f`. With two ranks it is unknown which one is
 * normal. */
static size_t known_ranks(const struct pw_excess *w, const struct pw_straggler_found *f)
{
    size_t n = 0;
    for (size_t r = 0; r < w->in->nranks; r++)
        n += w->in->own_ns[f->first * w->in->nranks + r] >= 0;
    return n;
}

/* 1 when all ranks are on one host. Then no host can be compared with another. */
static int is_one_host(const int64_t *host_of, size_t nranks)
{
    for (size_t r = 1; host_of && r < nranks; r++)
        if (host_of[r] != host_of[0])
            return 0;
    return 1;
}

/* 1 when the rank stands out, as above. host_of[nranks] has the host numbers; NULL: not known. */
static int pw_standout(const struct pw_excess *w, const struct pw_straggler_found *f,
                       const int64_t *host_of)
{
    const size_t nranks = w->in->nranks;
    if (known_ranks(w, f) == 2)
        return f->slowdown >= (w->in->is_marked ? LEAST_MARKED : LEAST_OF_TWO);
    const double mine = sum_in_hits(w, f, f->rank);
    const int one_host = is_one_host(host_of, nranks);
    size_t company = 1, elsewhere = 0;
    for (size_t r = 0; r < nranks; r++) {
        if (r == f->rank || (double)w->above[r] < MUCH_LESS * mine ||
            (sum_in_hits(w, f, r) <= COMPANY * mine && worst_ever(w, f, r) <= RIVAL * mine))
            continue;
        company++;
        elsewhere += one_host || host_of[r] != host_of[f->rank];
        if (2 * company > nranks || (elsewhere && MOST_COMPANY * company > nranks))
            return 0;
    }
    return company == 1 || MOST_COMPANY * company <= nranks ||
           (!elsewhere && 2 * company <= nranks);
}

enum { LEAST_RANKS_KEPT = 16 };

#define SIGNIFICANCE 0.01
#define SERIES 2 /* own work, and the part of it outside communication */
/* A normal rank is above 3 sigma in this share of steps by chance (normal distribution). */
#define CHANCE_OF_HIT 0.00135
/* An event that was seen k times in n may have a rate of up to about (k + 3) / n. */
#define RULE_OF_THREE 3

/* Room for the middle of each phase in each step. With few ranks it would be a large part of the
 * memory, and save little time. */
static size_t phases_size(size_t nsteps, size_t nranks)
{
    return nranks < LEAST_RANKS_KEPT ? 0 : sizeof(struct pw_middle) * nsteps * PW_PHASES;
}

static void begin_phases(struct pw_excess *w, void *scratch)
{
    if (w->in->nranks < LEAST_RANKS_KEPT)
        return;
    w->phases = scratch;
    for (size_t i = 0; i < w->in->nsteps * PW_PHASES; i++)
        w->phases[i].low = PW_EXCESS_UNKNOWN;
}

size_t pw_straggler_scratch(size_t nsteps, size_t nranks)
{
    return 2 * pw_excess_scratch(nsteps, nranks) + phases_size(nsteps, nranks);
}

/* Counts the hits of each rank, sums them up for chance_of_hit(), and adds up the positive
 * excesses of each rank. */
static void count_hits(struct pw_excess *w)
{
    w->hits = w->most_hits = w->second_hits = 0;
    for (size_t r = 0; r < w->in->nranks; r++) {
        int64_t clock = pw_excess_clock_limit(w, r), hits = 0, above = 0;
        for (size_t s = 0; s < w->in->nsteps; s++) {
            hits += pw_excess_is_above(w, s, r, clock, 3 * w->sigma);
            above = pw_sum(above, pw_excess_at(w, s, r) > 0 ? pw_excess_at(w, s, r) : 0);
        }
        w->above[r] = above;
        w->rank_hits[r] = hits;
        w->hits += hits;
        if (hits >= w->most_hits) {
            w->second_hits = w->most_hits;
            w->most_hits = hits;
        } else if (hits > w->second_hits) {
            w->second_hits = hits;
        }
    }
}

/* The chance that a normal rank is above 3 sigma in a step: the rate on the other ranks, without
 * the worst of them, so that a second straggler does not hide the first; at least the rate of a
 * normal distribution. */
static double chance_of_hit(const struct pw_excess *w, size_t rank)
{
    const size_t n = w->in->nranks;
    const int64_t mine = w->rank_hits[rank], others = w->hits - mine;
    const int64_t most = mine == w->most_hits ? w->second_hits : w->most_hits;
    int64_t hits = n > 3 ? others - most : others;
    int64_t seen = (int64_t)(w->in->nsteps * (n > 3 ? n - 2 : n - 1));
    return CHANCE_OF_HIT + (double)(hits + RULE_OF_THREE) / (double)(seen + RULE_OF_THREE);
}

/* A window in which a rank is slow, and the chance of it. */
struct window {
    size_t first, last;
    double chance; /* above 1: no window worth naming */
    /* sum of the excess of the steps that are above half the median of the window */
    double excess_ns;
};

/* Finds the window with the largest sum of (excess - edge), with each excess limited to `most`.
 * Returns 0 when no step is above the edge. */
static int best_window(const struct pw_excess *w, size_t rank, double edge, double most,
                       struct window *found)
{
    double best = 0, sum = 0;
    size_t start = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t excess = pw_excess_at(w, s, rank);
        if (sum <= 0) {
            sum = 0;
            start = s;
        }
        if (excess != PW_EXCESS_UNKNOWN)
            sum += clipped((double)excess, most) - edge;
        if (sum > best) {
            best = sum;
            found->first = start;
            found->last = s;
        }
    }
    return best > 0;
}

/* Median excess over the known steps of a window; *known: how many there are. */
static int64_t window_median(struct pw_excess *w, size_t rank, size_t first, size_t last,
                             size_t *known)
{
    size_t n = 0;
    for (size_t s = first; s <= last; s++)
        if (pw_excess_at(w, s, rank) != PW_EXCESS_UNKNOWN)
            w->others[n++] = pw_excess_at(w, s, rank);
    *known = n;
    return n ? pw_median_i64(w->others, n) : 0;
}

/* The share of steps in which the other ranks are above `level`: the rate of chance, for any
 * distribution. When it was never seen, the rate is 3 / n (its 95 % bound). */
static double rate_of_others(struct pw_excess *w, size_t rank, int64_t level)
{
    int64_t seen, above = pw_excess_above(w, level, &seen);
    for (size_t s = 0; s < w->in->nsteps; s++) {
        const int64_t excess = pw_excess_at(w, s, rank);
        seen -= excess != PW_EXCESS_UNKNOWN;
        above -= excess != PW_EXCESS_UNKNOWN && excess > level;
    }
    return (double)(above + RULE_OF_THREE) / (double)(seen + RULE_OF_THREE);
}

static int64_t count_above(const struct pw_excess *w, size_t rank, size_t first, size_t last,
                           int64_t level)
{
    int64_t above = 0;
    for (size_t s = first; s <= last; s++) {
        int64_t excess = pw_excess_at(w, s, rank);
        above += excess != PW_EXCESS_UNKNOWN && excess > level;
    }
    return above;
}

/* Finds the window for an excess of about `height`, and the chance of as many steps above half its
 * median, given how often the other ranks are above that. The chance is not yet corrected for the
 * number of windows. */
static struct window look_for(struct pw_excess *w, size_t rank, double height)
{
    struct window found = {.chance = 2};
    const double most = CLIP / LEAST_EFFECT * height;
    size_t known;
    if (!best_window(w, rank, height / 2, most, &found))
        return found;
    /* With a known effect, half of it separates the two sides of an edge best. */
    int64_t median = window_median(w, rank, found.first, found.last, &known);
    best_window(w, rank, clipped((double)median, most) / 2, most, &found);
    median = window_median(w, rank, found.first, found.last, &known);
    int64_t clock = pw_excess_clock_limit(w, rank);
    if (known < PW_EXCESS_LEAST_STEPS || (double)median <= LEAST_EFFECT * (double)w->sigma ||
        median <= clock || median <= w->percent[found.first])
        return found;
    /* An error of the clocks adds to this rank's excess in every step. */
    int64_t above = count_above(w, rank, found.first, found.last, median / 2 + clock);
    found.chance = pw_binomial_tail((int64_t)known, above, rate_of_others(w, rank, median / 2));
    found.excess_ns = (double)above * (double)median;
    return found;
}

static int64_t largest_excess(const struct pw_excess *w, size_t rank)
{
    int64_t largest = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (pw_excess_at(w, s, rank) > largest)
            largest = pw_excess_at(w, s, rank);
    return largest;
}

/* Chooses, among the windows of all heights, the one with the largest total excess, so that a small
 * lasting excess does not hide the limits of a large one. Returns its chance, corrected for the
 * number of ranks, heights and windows; above 1 when there is none. */
static double judge_window(struct pw_excess *w, size_t rank, struct pw_straggler_found *out)
{
    const double places = (double)w->in->nsteps * (double)(w->in->nsteps + 1) / 2;
    const double largest = (double)largest_excess(w, rank);
    double tests = SERIES * (double)w->in->nranks * places,
           height = LEAST_EFFECT * (double)w->sigma;
    double chance = 2, most = 0;
    int heights = 0;
    height = height > (double)w->least ? height : (double)w->least;
    do {
        struct window found = look_for(w, rank, height);
        heights++;
        height *= 2;
        if (found.chance * tests >= SIGNIFICANCE || found.excess_ns <= most)
            continue;
        chance = found.chance;
        most = found.excess_ns;
        out->first = found.first;
        out->last = found.last;
    } while (height < largest);
    return chance * tests * heights;
}

static void span_hits(const struct pw_excess *w, size_t rank, int64_t clock,
                      struct pw_straggler_found *out)
{
    int seen = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (pw_excess_is_above(w, s, rank, clock, 3 * w->sigma)) {
            out->first = seen ? out->first : s;
            out->last = s;
            seen = 1;
        }
}

/* Fills the rank, the window and the confidence. Returns 0 when the rank is no straggler. */
static int judge(struct pw_excess *w, size_t rank, struct pw_straggler_found *out)
{
    int64_t steps = (int64_t)w->in->nsteps, hits = w->rank_hits[rank];
    *out = (struct pw_straggler_found){.rank = rank};
    double windowed = judge_window(w, rank, out);
    if (windowed < SIGNIFICANCE) {
        out->confidence = 1 - windowed;
        return 1;
    }
    double single =
        pw_binomial_tail(steps, hits, chance_of_hit(w, rank)) * SERIES * (double)w->in->nranks;
    if (hits < PW_EXCESS_LEAST_STEPS || single >= SIGNIFICANCE)
        return 0;
    out->confidence = 1 - single;
    span_hits(w, rank, pw_excess_clock_limit(w, rank), out);
    return 1;
}

/* The least excess of a hit: in a window, half of its median; for single steps, 3 sigma. */
static int64_t least_excess(struct pw_excess *w, const struct pw_straggler_found *f)
{
    size_t known;
    int64_t median = window_median(w, f->rank, f->first, f->last, &known);
    return (double)median > LEAST_EFFECT * (double)w->sigma ? median / 2 : 3 * w->sigma;
}

/* Counts the hits in the window and sums their excess. */
static void measure(struct pw_excess *w, struct pw_straggler_found *f)
{
    const struct pw_straggler_input *in = w->in;
    int64_t clock = pw_excess_clock_limit(w, f->rank), least = least_excess(w, f);
    double slowdown = 0;
    size_t n = 0;
    for (size_t s = f->first; s <= f->last; s++)
        if (pw_excess_is_above(w, s, f->rank, clock, least)) {
            int64_t excess = pw_excess_at(w, s, f->rank);
            int64_t total = in->total_ns[s * in->nranks + f->rank];
            slowdown += total > 0 ? (double)excess / (double)total : 0;
            f->lost_ns += excess;
            w->others[n++] = excess;
        }
    f->hits = (int64_t)n;
    f->kind = 2 * n >= in->nsteps ? PW_STRAGGLER_PERSISTENT : PW_STRAGGLER_INTERMITTENT;
    f->excess_ns = n ? pw_median_i64(w->others, n) : 0;
    f->slowdown = n ? slowdown / (double)n : 0;
    f->phase = pw_straggler_phase(w, f, least);
}

/* Median of the excesses in `other` over the steps that are hits in `w`. */
static int64_t excess_in_hits(struct pw_excess *w, const struct pw_straggler_found *f,
                              const struct pw_excess *other)
{
    int64_t clock = pw_excess_clock_limit(w, f->rank), least = least_excess(w, f);
    size_t n = 0;
    for (size_t s = f->first; s <= f->last; s++)
        if (pw_excess_is_above(w, s, f->rank, clock, least) &&
            pw_excess_at(other, s, f->rank) != PW_EXCESS_UNKNOWN)
            w->others[n++] = pw_excess_at(other, s, f->rank);
    return n ? pw_median_i64(w->others, n) : 0;
}

/* Median of the rank's excess outside the window: its usual excess. 0 when too few steps are
 * known. */
static int64_t usual_excess(struct pw_excess *w, const struct pw_straggler_found *f)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (pw_straggler_is_outside(f, s) && pw_excess_at(w, s, f->rank) != PW_EXCESS_UNKNOWN)
            w->others[n++] = pw_excess_at(w, s, f->rank);
    return n >= PW_EXCESS_LEAST_STEPS ? pw_median_i64(w->others, n) : 0;
}

/* 1 when the rank's own work outside communication explains the excess: half of it is there, or
 * appeared there with the window. See straggler.h for the reasons. */
static int is_own_doing(struct pw_excess *own, const struct pw_straggler_found *f,
                        struct pw_excess *useful)
{
    if (useful) {
        int64_t more = excess_in_hits(own, f, useful), usual = usual_excess(useful, f);
        return 2 * (usual < 0 ? more - usual : more) >= f->excess_ns;
    }
    return f->phase != PW_PHASE_ALLREDUCE || f->kind == PW_STRAGGLER_PERSISTENT;
}

/* 1 when an excess outside communication is also one of own work. Otherwise the others'
 * communication takes as long, and the rank holds no other back. */
static int shows_in_own(struct pw_excess *useful, const struct pw_straggler_found *f,
                        const struct pw_excess *own)
{
    return 2 * excess_in_hits(useful, f, own) >= f->excess_ns;
}

/* Judges the rank by one series of work. Returns 1 when it is a straggler. */
static int find_in(struct pw_excess *w, size_t rank, struct pw_straggler_found *out)
{
    if (!judge(w, rank, out))
        return 0;
    measure(w, out);
    return out->hits >= PW_EXCESS_LEAST_STEPS;
}

int64_t pw_straggler_gain(const struct pw_straggler_input *in, size_t rank)
{
    int64_t gain = 0;
    for (size_t s = 0; s < in->nsteps; s++)
        gain += pw_excess_gain(in, s, rank);
    return gain;
}

static void insert_sorted(struct pw_straggler_found *out, size_t *count, size_t max,
                          const struct pw_straggler_found *found)
{
    size_t at = *count;
    while (at > 0 && out[at - 1].gain_ns < found->gain_ns)
        at--;
    if (at >= max)
        return;
    if (*count < max)
        (*count)++;
    for (size_t i = *count - 1; i > at; i--)
        out[i] = out[i - 1];
    out[at] = *found;
}

size_t pw_straggler_find(const struct pw_straggler_input *in, void *scratch,
                         struct pw_straggler_found *out, size_t max)
{
    struct pw_straggler_input outside = *in;
    struct pw_excess own, useful, *known = in->useful_ns ? &useful : NULL;
    struct pw_oneoff_tops tops;
    size_t count = 0;
    if (in->nranks < 2 || in->nsteps < PW_EXCESS_LEAST_STEPS)
        return 0;
    const size_t size = pw_excess_scratch(in->nsteps, in->nranks);
    pw_excess_compute(&own, in, scratch);
    begin_phases(&own, (char *)scratch + 2 * size);
    count_hits(&own);
    pw_oneoff_tops(&own, &tops);
    if (known) {
        outside.own_ns = in->useful_ns;
        pw_excess_compute(&useful, &outside, (char *)scratch + size);
        useful.phases = own.phases; /* both series have the same phases */
        count_hits(&useful);
    }
    for (size_t r = 0; r < in->nranks; r++) {
        struct pw_straggler_found found;
        int is_one = known && find_in(&useful, r, &found) && shows_in_own(&useful, &found, &own);
        if (!is_one && find_in(&own, r, &found)) {
            is_one = 1;
            found.is_inside = !is_own_doing(&own, &found, known);
        }
        if (!is_one && !pw_oneoff_find(&own, &tops, r, &found))
            continue;
        if (found.kind != PW_STRAGGLER_ONE_OFF)
            found.gain_ns = pw_straggler_gain(in, r);
        if (!pw_standout(&own, &found, in->host_of))
            continue;
        found.excess_ns = found.lost_ns / found.hits;
        insert_sorted(out, &count, max, &found);
    }
    return count;
}

/* ---- hosts on which most ranks are stragglers ---- */

struct tally {
    int64_t *ranks, *slow; /* [nhosts] */
    int64_t *values;
};

static int is_slow(const struct tally *t, size_t host)
{
    return t->slow[host] >= 2 && 3 * t->slow[host] >= 2 * t->ranks[host];
}

/* Fills the median window, the median excess and the least confidence of a host's stragglers.
 * Returns 0 when their windows have no step in common. */
static int describe(const struct pw_straggler_found *found, size_t nfound, const int64_t *host_of,
                    const struct tally *t, struct pw_host_found *out)
{
    int64_t *first = t->values, *last, *excess;
    size_t n = (size_t)t->slow[out->host], k = 0;
    last = first + n;
    excess = last + n;
    int64_t latest_first = INT64_MIN, earliest_last = INT64_MAX;
    out->confidence = 1;
    for (size_t i = 0; i < nfound; i++) {
        if ((size_t)host_of[found[i].rank] != out->host || found[i].is_inside)
            continue;
        first[k] = (int64_t)found[i].first;
        last[k] = (int64_t)found[i].last;
        excess[k++] = found[i].excess_ns;
        latest_first = first[k - 1] > latest_first ? first[k - 1] : latest_first;
        earliest_last = last[k - 1] < earliest_last ? last[k - 1] : earliest_last;
        out->confidence =
            found[i].confidence < out->confidence ? found[i].confidence : out->confidence;
    }
    out->first = (size_t)pw_median_i64(first, k);
    out->last = (size_t)pw_median_i64(last, k);
    out->excess_ns = pw_median_i64(excess, k);
    return latest_first <= earliest_last;
}

size_t pw_hosts_find(const struct pw_straggler_found *found, size_t nfound,
                     const struct pw_hosts *hosts, struct pw_host_found *out, int64_t *scratch)
{
    const int64_t *host_of = hosts->host_of;
    const size_t nranks = hosts->nranks, nhosts = hosts->nhosts;
    struct tally t = {scratch, scratch + nhosts, scratch + 2 * nhosts};
    size_t count = 0, slow = 0;
    for (size_t h = 0; h < nhosts; h++)
        t.ranks[h] = t.slow[h] = 0;
    for (size_t r = 0; r < nranks; r++)
        t.ranks[host_of[r]]++;
    for (size_t i = 0; i < nfound; i++)
        t.slow[host_of[found[i].rank]] += !found[i].is_inside;
    for (size_t h = 0; h < nhosts; h++)
        slow += (size_t)is_slow(&t, h);
    for (size_t h = 0; h < nhosts && 2 * slow < nhosts; h++) {
        struct pw_host_found one = {
            .host = h, .nranks = (size_t)t.ranks[h], .slow_ranks = (size_t)t.slow[h]};
        if (is_slow(&t, h) && describe(found, nfound, host_of, &t, &one))
            out[count++] = one;
    }
    return count;
}
