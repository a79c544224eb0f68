/* The company of a late rank, and the rule whether it stands out; see standout.h. */
#include "analysis/standout.h"

#include "analysis/thresholds.h"

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

int pw_named_has(const struct pw_named *named, size_t rank)
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

int pw_standout_has_changed(const struct pw_excess *w, const struct pw_straggler_found *f,
                            const struct pw_named *named)
{
    const double excess = (double)f->excess_ns;
    if (f->kind == PW_STRAGGLER_ONE_OFF || !is_episode(w, f) ||
        change_of(w, f, f->rank) < PW_CHANGED_OWN * excess)
        return 0;
    for (size_t r = 0; r < w->in->nranks; r++) {
        const int is_judged = r != f->rank && !pw_named_has(named, r);
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
        return f->slowdown >= (pw_standout_has_changed(w, f, named) ? PW_CHANGED_LEAST
                               : w->in->is_marked                   ? PW_STANDOUT_OF_TWO_MARKED
                                                                    : PW_STANDOUT_OF_TWO);
    const double mine = sum_in_hits(w, f, skipped, f->rank);
    const int one_host = is_one_host(host_of, nranks);
    size_t company = 1, elsewhere = 0;
    for (size_t r = 0; r < nranks; r++) {
        if (r == f->rank || pw_named_has(named, r) ||
            (double)w->above[r] < PW_COMPANY_IN_ALL * mine ||
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

int pw_standout(const struct pw_excess *w, const struct pw_straggler_found *f)
{
    return stands_out(w, f, &none, &none);
}

int pw_standout_beside(const struct pw_excess *w, const struct pw_straggler_found *f,
                       const struct pw_named *named)
{
    const int is_alone =
        sum_in_hits(w, f, named, f->rank) >= PW_STANDOUT_ALONE * sum_in_hits(w, f, &none, f->rank);
    /* Of the minority that is left nobody knows whether it is normal: only a change tells. In the
     * one step of a stall, those that were slow at other times are normal, too. */
    if (2 * (named->n + 1) > w->in->nranks && !pw_standout_has_changed(w, f, named) &&
        !(f->kind == PW_STRAGGLER_ONE_OFF && is_alone))
        return 0;
    if (is_alone)
        return stands_out(w, f, named, named);
    return is_episode(w, f) && stands_out(w, f, named, &none);
}
