/* Finds the window of each rank with the smallest chance, and counts stragglers by host; see
 * straggler.h. */
#include "analysis/straggler.h"

#include "analysis/statistics.h"
#include "analysis/thresholds.h"
#include "core/limits.h"

/* Whether a late rank stands out from the others. Pure arithmetic: no I/O, no allocation.
 *
 * On machines that are shared or uneven, many ranks differ a little, and the slowest of them is no
 * straggler. The company of a rank are the ranks whose sum of excess is above a third of the rank's
 * in the steps that it held back, or above half of it in as many other successive steps. Except for
 * a one-off, each step counts up to 2.7 times the rank's usual excess there, as in the search for
 * windows: a rank that stalled once in these steps is no company of one that was slow in all of
 * them. The rank stands out
 * - alone or with a company of at most a quarter of the ranks;
 * - with a company on its own host, and at most half of the ranks: then the host is slow;
 * - of two ranks, when its excess is two fifths of its steps, or one fifth of marked steps; or a
 * tenth of the steps, if it changed (standout_has_changed()).
 *
 * Of 3 to 7 ranks one alone may be slow by this rule. So with them, a rank that does not stand out
 * is judged once more, beside the ranks that do: these are no company of it. Besides,
 * - at least half of its excess must be in steps in which none of them was slow, and only these
 * count: ranks that are slow at different times are several faults, not an uneven machine;
 * - or it was slow for a time only: at least a fifth of the steps are before or after, and at most
 * a quarter of these are as slow. Of those that are left, as many as possible are named that stand
 * out beside each other. At most every second rank is named so; of 2 and 3 ranks two, if these have
 * changed, or if the added one stalled while the other was normal. */

enum { PW_STANDOUT_FEW = 7 }; /* ranks that are judged beside each other */

static inline double pw_clipped(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* Ranks that stand out. */
struct pw_named {
    const struct pw_straggler_found *found;
    size_t n;
};

/* What a step counts: its excess, within the limits that the search for windows has. */
static double counted(const struct pw_straggler_found *f, int64_t excess)
{
    return f->kind == PW_STRAGGLER_ONE_OFF
               ? (double)excess
               : pw_clipped((double)excess,
                            PW_STRAGGLER_CLIP / PW_STRAGGLER_LEAST * (double)f->excess_ns);
}

static const struct pw_named none = {NULL, 0};

/* 1 when the step is one that `f` held back. */
static int is_hit(const struct pw_excess *w, const struct pw_straggler_found *f, size_t step)
{
    return f->first <= step && step <= f->last &&
           pw_excess_at(w, step, f->rank) != PW_EXCESS_UNKNOWN &&
           2 * pw_excess_at(w, step, f->rank) > f->excess_ns;
}

static int named_has(const struct pw_named *named, size_t rank)
{
    for (size_t i = 0; i < named->n; i++)
        if (named->found[i].rank == rank)
            return 1;
    return 0;
}

static int is_hit_of_any(const struct pw_excess *w, const struct pw_named *named, size_t step)
{
    for (size_t i = 0; i < named->n; i++)
        if (is_hit(w, &named->found[i], step))
            return 1;
    return 0;
}

/* The rank's excess in the steps that `f`, and none of the named ranks, held back. */
static double sum_in_hits(const struct pw_excess *w, const struct pw_straggler_found *f,
                          const struct pw_named *named, size_t rank)
{
    double sum = 0;
    for (size_t s = f->first; s <= f->last; s++)
        if (is_hit(w, f, s) && pw_excess_at(w, s, rank) != PW_EXCESS_UNKNOWN &&
            !is_hit_of_any(w, named, s))
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

/* 1 when the rank was slow for a time, and not before or after it. */
static int is_episode(const struct pw_excess *w, const struct pw_straggler_found *f)
{
    size_t outside = 0, slow = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        const int64_t excess = pw_excess_at(w, s, f->rank);
        if (excess == PW_EXCESS_UNKNOWN || (f->first <= s && s <= f->last))
            continue;
        outside++;
        slow += 2 * excess > f->excess_ns;
    }
    return (double)outside >= PW_EPISODE_OUTSIDE * (double)w->in->nsteps &&
           (double)slow <= PW_EPISODE_SLOW * (double)outside;
}

/* The median of the rank's own work in the window, or outside of it, ns. */
static int64_t median_work(const struct pw_excess *w, const struct pw_straggler_found *f,
                           size_t rank, int outside)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        const int64_t own = w->in->own_ns[s * w->in->nranks + rank];
        if (own >= 0 && pw_straggler_is_outside(f, s) == outside)
            w->others[n++] = own;
    }
    return n ? pw_median_i64(w->others, n) : 0;
}

/* The mean of the same. */
static double mean_work(const struct pw_excess *w, const struct pw_straggler_found *f, size_t rank,
                        int outside)
{
    double sum = 0;
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        const int64_t own = w->in->own_ns[s * w->in->nranks + rank];
        if (own >= 0 && pw_straggler_is_outside(f, s) == outside) {
            sum += (double)own;
            n++;
        }
    }
    return n ? sum / (double)n : 0;
}

/* How much more own work the rank had in the window than outside of it, ns: the difference of the
 * medians. Where the window has many steps without a delay, as when an iteration is two steps, the
 * medians may not see it: then it is the difference of the means, for each step that was held back.
 */
static double change_of(const struct pw_excess *w, const struct pw_straggler_found *f, size_t rank)
{
    size_t hits = 0, n = 0;
    for (size_t s = f->first; s <= f->last; s++) {
        n += pw_excess_at(w, s, f->rank) != PW_EXCESS_UNKNOWN;
        hits += is_hit(w, f, s);
    }
    if (!hits || (double)hits >= PW_CHANGED_DENSE * (double)n)
        return (double)(median_work(w, f, rank, 0) - median_work(w, f, rank, 1));
    return (mean_work(w, f, rank, 0) - mean_work(w, f, rank, 1)) * (double)n / (double)hits;
}

/* 1 when the rank was slow for a time, and the begin and the end of it show in its own work, not in
 * that of the ranks that are not named. So it is known which one changed, whatever is normal. */
static int standout_has_changed(const struct pw_excess *w, const struct pw_straggler_found *f,
                                const struct pw_named *named)
{
    const double excess = (double)f->excess_ns;
    if (f->kind == PW_STRAGGLER_ONE_OFF || !is_episode(w, f) ||
        change_of(w, f, f->rank) < PW_CHANGED_OWN * excess)
        return 0;
    for (size_t r = 0; r < w->in->nranks; r++) {
        const int is_judged = r != f->rank && !named_has(named, r);
        const double other = is_judged ? change_of(w, f, r) : 0;
        if (other > PW_CHANGED_OTHER * excess || other < -PW_CHANGED_OTHER * excess)
            return 0;
    }
    return 1;
}

/* 1 when all ranks are on one host. Then no host can be compared with another. */
static int is_one_host(const int64_t *host_of, size_t nranks)
{
    for (size_t r = 1; host_of && r < nranks; r++)
        if (host_of[r] != host_of[0])
            return 0;
    return 1;
}

/* The same beside those named, without the steps of those in `skipped`. */
static int stands_out(const struct pw_excess *w, const struct pw_straggler_found *f,
                      const struct pw_named *named, const struct pw_named *skipped)
{
    const size_t nranks = w->in->nranks;
    const int64_t *host_of = w->in->host_of;
    if (known_ranks(w, f) == 2)
        return f->slowdown >= (standout_has_changed(w, f, named) ? PW_CHANGED_LEAST
                               : w->in->is_marked                ? PW_STANDOUT_OF_TWO_MARKED
                                                                 : PW_STANDOUT_OF_TWO);
    const double mine = sum_in_hits(w, f, skipped, f->rank);
    const int one_host = is_one_host(host_of, nranks);
    size_t company = 1, elsewhere = 0;
    for (size_t r = 0; r < nranks; r++) {
        if (r == f->rank || named_has(named, r) || (double)w->above[r] < PW_COMPANY_IN_ALL * mine ||
            (sum_in_hits(w, f, skipped, r) <= PW_COMPANY * mine &&
             worst_ever(w, f, r) <= PW_COMPANY_ELSEWHERE * mine))
            continue;
        company++;
        elsewhere += one_host || host_of[r] != host_of[f->rank];
        if (2 * company > nranks || (elsewhere && PW_COMPANY_PARTS * company > nranks))
            return 0;
    }
    return company == 1 || PW_COMPANY_PARTS * company <= nranks ||
           (!elsewhere && 2 * company <= nranks);
}

/* 1 when the rank of `f` stands out by itself. */
static int standout(const struct pw_excess *w, const struct pw_straggler_found *f)
{
    return stands_out(w, f, &none, &none);
}

/* 1 when the rank, which does not stand out by itself, does so beside those named. */
static int standout_beside(const struct pw_excess *w, const struct pw_straggler_found *f,
                           const struct pw_named *named)
{
    const int is_alone =
        sum_in_hits(w, f, named, f->rank) >= PW_STANDOUT_ALONE * sum_in_hits(w, f, &none, f->rank);
    /* Of the minority that is left nobody knows whether it is normal: only a change tells. In the
     * one step of a stall, those that were slow at other times are normal, too. */
    if (2 * (named->n + 1) > w->in->nranks && !standout_has_changed(w, f, named) &&
        !(f->kind == PW_STRAGGLER_ONE_OFF && is_alone))
        return 0;
    if (is_alone)
        return stands_out(w, f, named, named);
    return is_episode(w, f) && stands_out(w, f, named, &none);
}

enum { LEAST_RANKS_KEPT = 16 };

#define SERIES 2 /* own work, and the part of it outside communication */
/* A normal rank is above 3 sigma in this share of steps by chance (normal distribution). */
#define CHANCE_OF_HIT 0.00135
/* An event that was seen k times in n may have a rate of up to about (k + 3) / n. */
#define RULE_OF_THREE 3
/* One of so many hits may be an outlier of the range in which they are. */
#define OUTLIERS_OF 10

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
            sum += pw_clipped((double)excess, most) - edge;
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
    const double most = PW_STRAGGLER_CLIP / PW_STRAGGLER_LEAST * height;
    size_t known;
    if (!best_window(w, rank, height / 2, most, &found))
        return found;
    /* With a known effect, half of it separates the two sides of an edge best. */
    int64_t median = window_median(w, rank, found.first, found.last, &known);
    best_window(w, rank, pw_clipped((double)median, most) / 2, most, &found);
    median = window_median(w, rank, found.first, found.last, &known);
    int64_t clock = pw_excess_clock_limit(w, rank);
    if (known < PW_EXCESS_LEAST_STEPS || (double)median <= PW_STRAGGLER_LEAST * (double)w->sigma ||
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
           height = PW_STRAGGLER_LEAST * (double)w->sigma;
    double chance = 2, most = 0;
    int heights = 0;
    height = height > (double)w->least ? height : (double)w->least;
    do {
        struct window found = look_for(w, rank, height);
        heights++;
        height *= 2;
        if (found.chance * tests >= PW_STRAGGLER_CHANCE || found.excess_ns <= most)
            continue;
        chance = found.chance;
        most = found.excess_ns;
        out->first = found.first;
        out->last = found.last;
    } while (height < largest);
    return chance * tests * heights;
}

/* From the first to the last hit; but where a tenth of the hits makes that range more than twice as
 * long, these are outliers, and it has the others only. */
static void span_hits(const struct pw_excess *w, size_t rank, int64_t clock,
                      struct pw_straggler_found *out)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++)
        if (pw_excess_is_above(w, s, rank, clock, 3 * w->sigma))
            w->others[n++] = (int64_t)s;
    if (!n)
        return;
    const size_t left = n - n / OUTLIERS_OF;
    size_t best = 0;
    for (size_t i = 1; i + left <= n; i++)
        if (w->others[i + left - 1] - w->others[i] < w->others[best + left - 1] - w->others[best])
            best = i;
    out->first = (size_t)w->others[0];
    out->last = (size_t)w->others[n - 1];
    if (2 * (w->others[best + left - 1] - w->others[best] + 1) <
        w->others[n - 1] - w->others[0] + 1) {
        out->first = (size_t)w->others[best];
        out->last = (size_t)w->others[best + left - 1];
    }
}

/* Fills the rank, the window and the confidence. Returns 0 when the rank is no straggler. */
static int judge(struct pw_excess *w, size_t rank, struct pw_straggler_found *out)
{
    int64_t steps = (int64_t)w->in->nsteps, hits = w->rank_hits[rank];
    *out = (struct pw_straggler_found){.rank = rank};
    double windowed = judge_window(w, rank, out);
    if (windowed < PW_STRAGGLER_CHANCE) {
        out->confidence = 1 - windowed;
        return 1;
    }
    double single =
        pw_binomial_tail(steps, hits, chance_of_hit(w, rank)) * SERIES * (double)w->in->nranks;
    if (hits < PW_EXCESS_LEAST_STEPS || single >= PW_STRAGGLER_CHANCE)
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
    return (double)median > PW_STRAGGLER_LEAST * (double)w->sigma ? median / 2 : 3 * w->sigma;
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

/* Stragglers, the largest gain first. */
struct list {
    struct pw_straggler_found *found;
    size_t n, max;
};

static void insert_sorted(struct list *list, const struct pw_straggler_found *one)
{
    size_t at = list->n;
    while (at > 0 && list->found[at - 1].gain_ns < one->gain_ns)
        at--;
    if (at >= list->max)
        return;
    if (list->n < list->max)
        list->n++;
    for (size_t i = list->n - 1; i > at; i--)
        list->found[i] = list->found[i - 1];
    list->found[at] = *one;
}

/* The two series of work, which both tests of a rank use. */
struct series {
    struct pw_excess own, useful;
    struct pw_excess *known; /* `useful`, or NULL */
    struct pw_oneoff_tops tops;
};

/* Judges the rank by both series. Returns 1 when it was slow, whether it stands out or not. */
static int judge_rank(struct series *s, size_t rank, struct pw_straggler_found *found)
{
    int is_one =
        s->known && find_in(&s->useful, rank, found) && shows_in_own(&s->useful, found, &s->own);
    if (!is_one && find_in(&s->own, rank, found)) {
        is_one = 1;
        found->is_inside = !is_own_doing(&s->own, found, s->known);
    }
    if (!is_one && !pw_oneoff_find(&s->own, &s->tops, rank, found))
        return 0;
    if (found->kind != PW_STRAGGLER_ONE_OFF)
        found->gain_ns = pw_straggler_gain(s->own.in, rank);
    return 1;
}

/* Puts a few steps that nothing else in the run is like in the place of what was found in all
 * steps, where that lost less than half as much: a slight noise of the rank must not hide its
 * checkpoints. Also where it does not stand out; but of few ranks, which are judged beside each
 * other later, only if it lost less. */
static void prefer_rare(struct series *s, struct pw_straggler_found *found)
{
    struct pw_straggler_found rare;
    if (found->kind == PW_STRAGGLER_ONE_OFF ||
        !pw_oneoff_find(&s->own, &s->tops, found->rank, &rare) || !standout(&s->own, &rare))
        return;
    const int may_stand_out = s->own.in->nranks <= PW_STANDOUT_FEW && rare.lost_ns < found->lost_ns;
    if (rare.lost_ns > 2 * found->lost_ns || (!may_stand_out && !standout(&s->own, found)))
        *found = rare;
}

static void take(const struct series *s, struct list *out, struct pw_straggler_found *found)
{
    const struct pw_named named = {out->found, out->n};
    found->has_changed = standout_has_changed(&s->own, found, &named);
    found->excess_ns = found->lost_ns / found->hits;
    insert_sorted(out, found);
}

/* How many of few ranks may be named beside each other. */
static size_t most_beside(size_t nranks)
{
    return nranks <= 3 ? 2 : nranks / 2;
}

/* Of few ranks: adds those that were slow while no rank that stands out was. */
static void take_beside(struct series *s, struct list *slow, struct list *out)
{
    while (out->n && out->n < most_beside(s->own.in->nranks)) {
        const struct pw_named named = {out->found, out->n};
        size_t next = 0;
        while (next < slow->n && (named_has(&named, slow->found[next].rank) ||
                                  !standout_beside(&s->own, &slow->found[next], &named)))
            next++;
        if (next == slow->n)
            return;
        take(s, out, &slow->found[next]);
    }
}

/* 1 when each of the first n of these ranks stands out beside the others and those in `out`. */
static int stand_out_together(const struct series *s, const struct list *slow, size_t n,
                              const struct list *out)
{
    struct pw_straggler_found others[2 * PW_STANDOUT_FEW];
    for (size_t i = 0; i < n; i++) {
        const struct pw_named named = {others, out->n + n - 1};
        for (size_t k = 0; k < out->n; k++)
            others[k] = out->found[k];
        for (size_t k = 0; k + 1 < n; k++)
            others[out->n + k] = slow->found[k < i ? k : k + 1];
        if (!standout_beside(&s->own, &slow->found[i], &named))
            return 0;
    }
    return 1;
}

/* Of few ranks that are slow: as many as possible that stand out beside each other, and beside
 * those that do so by themselves. */
static void take_together(struct series *s, struct list *slow, struct list *out)
{
    const struct pw_named named = {out->found, out->n};
    const size_t all = most_beside(s->own.in->nranks);
    const size_t most = out->n < all ? all - out->n : 0;
    size_t left = 0;
    for (size_t i = 0; i < slow->n; i++)
        if (!named_has(&named, slow->found[i].rank))
            slow->found[left++] = slow->found[i];
    slow->n = left;
    for (size_t n = slow->n < most ? slow->n : most; n > 1; n--)
        if (stand_out_together(s, slow, n, out)) {
            for (size_t i = 0; i < n; i++)
                take(s, out, &slow->found[i]);
            return;
        }
}

size_t pw_straggler_find(const struct pw_straggler_input *in, void *scratch,
                         struct pw_straggler_found *out, size_t max)
{
    struct pw_straggler_input outside = *in;
    struct pw_straggler_found slow_ranks[PW_STANDOUT_FEW];
    struct list list = {out, 0, max}, slow = {slow_ranks, 0, PW_STANDOUT_FEW};
    struct series s = {.known = NULL};
    if (in->nranks < 2 || in->nsteps < PW_EXCESS_LEAST_STEPS)
        return 0;
    const size_t size = pw_excess_scratch(in->nsteps, in->nranks);
    pw_excess_compute(&s.own, in, scratch);
    begin_phases(&s.own, (char *)scratch + 2 * size);
    count_hits(&s.own);
    pw_oneoff_tops(&s.own, &s.tops);
    if (in->useful_ns) {
        s.known = &s.useful;
        outside.own_ns = in->useful_ns;
        pw_excess_compute(&s.useful, &outside, (char *)scratch + size);
        s.useful.phases = s.own.phases; /* both series have the same phases */
        count_hits(&s.useful);
    }
    for (size_t r = 0; r < in->nranks; r++) {
        struct pw_straggler_found found;
        if (!judge_rank(&s, r, &found))
            continue;
        prefer_rare(&s, &found);
        if (standout(&s.own, &found))
            take(&s, &list, &found);
        else if (in->nranks <= PW_STANDOUT_FEW)
            insert_sorted(&slow, &found);
    }
    take_beside(&s, &slow, &list);
    if (slow.n)
        take_together(&s, &slow, &list);
    return list.n;
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

/* Tries each period with each first step. */

/* Limits: share of the excess in the steps of the period; share of these steps that have an excess;
 * how many there are at least. */
#define LEAST_SHARE 0.8
#define LEAST_HIT 0.8
enum { LEAST_LOSSES = 4 };

static double positive(int64_t excess)
{
    return excess > 0 ? (double)excess : 0;
}

static double sum_of(const int64_t *excess, size_t n, size_t first, size_t period)
{
    double sum = 0;
    for (size_t s = first; s < n; s += period)
        sum += positive(excess[s]);
    return sum;
}

/* 1 when most of the steps of the period have an excess, so that it is no multiple or fraction of
 * the true one. */
static int are_alike(const int64_t *excess, size_t n, size_t first, size_t period, double sum)
{
    const size_t steps = (n - first + period - 1) / period;
    const double half = sum / (double)steps / 2;
    size_t hit = 0;
    for (size_t s = first; s < n; s += period)
        hit += positive(excess[s]) >= half;
    return steps >= LEAST_LOSSES && (double)hit >= LEAST_HIT * (double)steps;
}

int64_t pw_lossperiod_find(const int64_t *excess, size_t n)
{
    const double all = sum_of(excess, n, 0, 1);
    for (size_t period = 2; all > 0 && period <= PW_LOSSPERIOD_MOST && period <= n / LEAST_LOSSES;
         period++)
        for (size_t first = 0; first < period; first++) {
            const double sum = sum_of(excess, n, first, period);
            if (sum >= LEAST_SHARE * all && are_alike(excess, n, first, period, sum))
                return (int64_t)period;
        }
    return 0;
}
