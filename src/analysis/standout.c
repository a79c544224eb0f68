/* How far a rank is above the next; see standout.h. */
#include "analysis/standout.h"

#define COMPANY 0.34     /* of its excess */
#define RIVAL 0.5        /* of its excess, in other steps */
#define MOST_COMPANY 4   /* at most every fourth rank */
#define LEAST_OF_TWO 0.4 /* of the steps */
#define LEAST_MARKED 0.2 /* likewise */

static double sum_in_hits(const struct pw_excess *w, const struct pw_straggler_found *f,
                          size_t rank)
{
    double sum = 0;
    for (size_t s = f->first; s <= f->last; s++)
        if (pw_excess_at(w, s, f->rank) != PW_EXCESS_UNKNOWN &&
            2 * pw_excess_at(w, s, f->rank) > f->excess_ns &&
            pw_excess_at(w, s, rank) != PW_EXCESS_UNKNOWN)
            sum += (double)pw_excess_at(w, s, rank);
    return sum;
}

static double high(const struct pw_excess *w, const struct pw_straggler_found *f, size_t step,
                   size_t rank)
{
    int64_t excess = pw_excess_at(w, step, rank);
    return excess != PW_EXCESS_UNKNOWN && 2 * excess > f->excess_ns ? (double)excess : 0;
}

/* The most that a rank has of excesses as high as this in as many steps in a row: what chance does.
 */
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

/* Ranks that ran the first step held back: of two nobody says which is usual. */
static size_t known_ranks(const struct pw_excess *w, const struct pw_straggler_found *f)
{
    size_t n = 0;
    for (size_t r = 0; r < w->in->nranks; r++)
        n += w->in->own_ns[f->first * w->in->nranks + r] >= 0;
    return n;
}

/* A slow host is known by others that are not. */
static int is_one_host(const int64_t *host_of, size_t nranks)
{
    for (size_t r = 1; host_of && r < nranks; r++)
        if (host_of[r] != host_of[0])
            return 0;
    return 1;
}

int pw_standout(const struct pw_excess *w, const struct pw_straggler_found *f,
                const int64_t *host_of)
{
    const size_t nranks = w->in->nranks;
    if (known_ranks(w, f) == 2)
        return f->slowdown >= (w->in->is_marked ? LEAST_MARKED : LEAST_OF_TWO);
    const double mine = sum_in_hits(w, f, f->rank);
    const int one_host = is_one_host(host_of, nranks);
    size_t company = 1, elsewhere = 0;
    for (size_t r = 0; r < nranks; r++) {
        if (r == f->rank ||
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
