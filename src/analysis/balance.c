/* Compares the work of roles; see balance.h. */
#include "analysis/balance.h"

#include <math.h>

#include "analysis/statistics.h"

#define MAD_TO_SIGMA 1.4826 /* of a normal distribution */
#define MEDIAN_ERROR 1.2533 /* of a median, in those of a mean */
#define LEAST_ERRORS 3.0    /* standard errors of a difference of two medians */
#define PART_ERRORS 2.0     /* of those, one of a quarter's */

enum { FEWEST_STEPS = 3, PARTS = 4 };

/* Ranks in the order of their roles. */
struct work {
    const struct pw_balance_input *in;
    const int64_t *series;
    size_t stride;
    int64_t *ranks;   /* [nranks] */
    int64_t *first;   /* [nroles + 1] of a role in `ranks` */
    int64_t *medians; /* [nranks] of a rank's work, in the order of `ranks`; -1: not known */
    int64_t *values;  /* [max(nranks, nsteps)] */
};

size_t pw_balance_scratch(const struct pw_balance_input *in)
{
    const size_t most = in->nsteps > in->nranks ? in->nsteps : in->nranks;
    return 2 * in->nranks + in->nroles + 1 + most;
}

static void lay_out(struct work *w, const struct pw_balance_input *in, int64_t *scratch)
{
    w->in = in;
    w->ranks = scratch;
    w->medians = w->ranks + in->nranks;
    w->first = w->medians + in->nranks;
    w->values = w->first + in->nroles + 1;
    size_t n = 0;
    for (size_t k = 0; k < in->nroles; k++) {
        w->first[k] = (int64_t)n;
        for (size_t r = 0; r < in->nranks; r++)
            if (in->role_of[r] == (int32_t)k)
                w->ranks[n++] = (int64_t)r;
    }
    w->first[in->nroles] = (int64_t)n;
}

/* The known work of the rank at a place in steps first .. end - 1 into `values`; how many. */
static size_t collect(struct work *w, size_t place, size_t first, size_t end)
{
    const size_t nranks = w->in->nranks, rank = (size_t)w->ranks[place];
    size_t n = 0;
    for (size_t s = first; s < end; s++)
        if (w->series[(s * nranks + rank) * w->stride] >= 0)
            w->values[n++] = w->series[(s * nranks + rank) * w->stride];
    return n;
}

/* The known medians of the places first .. end - 1 behind the n that `values` has; how many. */
static size_t add_medians(struct work *w, int64_t first, int64_t end, size_t n)
{
    for (int64_t i = first; i < end; i++)
        if (w->medians[i] >= 0)
            w->values[n++] = w->medians[i];
    return n;
}

/* Each rank's median in steps first .. end - 1; the median of these, -1: none is known. */
static int64_t find_medians(struct work *w, size_t first, size_t end)
{
    const int64_t all = w->first[w->in->nroles];
    for (int64_t i = 0; i < all; i++) {
        size_t n = collect(w, (size_t)i, first, end);
        w->medians[i] = n ? pw_median_i64(w->values, n) : -1;
    }
    size_t n = add_medians(w, 0, all, 0);
    return n ? pw_median_i64(w->values, n) : -1;
}

/* Of the role's medians the middle one above `center`, of two the nearer, 0 when they lie on both
 * sides. */
static int64_t level_of(struct work *w, size_t role, int64_t center)
{
    size_t n = add_medians(w, w->first[role], w->first[role + 1], 0);
    if (!n || center < 0)
        return 0;
    pw_sort_i64(w->values, n);
    int64_t low = w->values[(n - 1) / 2] - center, high = w->values[n / 2] - center;
    return low > 0 ? low : high < 0 ? high : 0;
}

static int64_t size_of(int64_t value)
{
    return value < 0 ? -value : value;
}

/* Three standard errors of a difference of two ranks' medians: of the usual rank. */
static double noise_limit(struct work *w)
{
    const int64_t all = w->first[w->in->nroles];
    for (int64_t i = 0; i < all; i++) {
        size_t n = collect(w, (size_t)i, 0, w->in->nsteps);
        int64_t median = n ? pw_median_i64(w->values, n) : 0;
        for (size_t k = 0; k < n; k++)
            w->values[k] = size_of(w->values[k] - median);
        double mad = n ? (double)pw_median_i64(w->values, n) : 0;
        w->medians[i] = n ? (int64_t)(MEDIAN_ERROR * MAD_TO_SIGMA * mad / sqrt((double)n)) : -1;
    }
    size_t n = add_medians(w, 0, all, 0);
    return n ? LEAST_ERRORS * sqrt(2.0) * (double)pw_median_i64(w->values, n) : 0;
}

/* 1 % of the median step, which is as long as its longest rank. */
static int64_t share_of_step(struct work *w)
{
    size_t n = 0;
    for (size_t s = 0; s < w->in->nsteps; s++) {
        int64_t longest = -1;
        for (size_t r = 0; r < w->in->nranks; r++)
            if (w->in->total_ns[s * w->in->nranks + r] > longest)
                longest = w->in->total_ns[s * w->in->nranks + r];
        if (longest >= 0)
            w->values[n++] = longest;
    }
    return n ? pw_median_i64(w->values, n) / 100 : 0;
}

/* 1 when the role's ranks are on one host, which has no others, while other hosts have. */
static int is_one_host(const struct work *w, size_t role)
{
    const struct pw_balance_input *in = w->in;
    int32_t host = in->host_of[w->ranks[w->first[role]]];
    for (int64_t i = w->first[role]; i < w->first[role + 1]; i++)
        if (in->host_of[w->ranks[i]] != host)
            return 0;
    for (size_t r = 0; r < in->nranks; r++)
        if (in->role_of[r] != (int32_t)role && in->host_of[r] == host)
            return 0;
    return 1;
}

static size_t count_known(const struct work *w, size_t role)
{
    size_t n = 0;
    for (int64_t i = w->first[role]; i < w->first[role + 1]; i++)
        n += w->medians[i] >= 0;
    return n;
}

static int64_t work_of_others(struct work *w, size_t role)
{
    size_t n = add_medians(w, 0, w->first[role], 0);
    n = add_medians(w, w->first[role + 1], w->first[w->in->nroles], n);
    return n ? pw_median_i64(w->values, n) : -1;
}

/* Returns the center. */
static int64_t judge_run(struct work *w, struct pw_balance_role *roles)
{
    const int64_t least = share_of_step(w);
    const double noise = noise_limit(w);
    const int64_t center = find_medians(w, 0, w->in->nsteps);
    for (size_t k = 0; k < w->in->nroles; k++) {
        int64_t level = level_of(w, k, center);
        roles[k] = (struct pw_balance_role){.nranks = count_known(w, k)};
        roles[k].work_ns = roles[k].nranks ? center + level : -1;
        roles[k].others_ns = work_of_others(w, k);
        if (size_of(level) > least && size_of(level) > w->in->clock_ns &&
            (double)size_of(level) > noise && w->in->nsteps >= FEWEST_STEPS && w->in->nroles > 1)
            roles[k].offset_ns = level;
    }
    return center;
}

/* 1 when the value is at least half of the offset, on its side, but for chance. */
static int is_half(int64_t value, int64_t offset, int64_t chance)
{
    return offset > 0 ? 2 * (value + chance) >= offset : 2 * (value - chance) <= offset;
}

/* Keeps the offsets that are there, by half at least, in every quarter of the run: above the
 * quarter's center, or above the run's, since of few ranks a slow one moves the quarter's. */
static void judge_parts(struct work *w, struct pw_balance_role *roles, int64_t center)
{
    /* A standard error of a quarter's median is twice that of the run's. */
    const int64_t chance = (int64_t)(PART_ERRORS * noise_limit(w) / LEAST_ERRORS);
    const size_t nsteps = w->in->nsteps, most = nsteps / FEWEST_STEPS;
    const size_t parts = most < PARTS ? most : PARTS;
    for (size_t i = 0; i < parts; i++) {
        int64_t now = find_medians(w, nsteps * i / parts, nsteps * (i + 1) / parts);
        for (size_t k = 0; k < w->in->nroles; k++)
            if (!is_half(level_of(w, k, now), roles[k].offset_ns, chance) &&
                !is_half(level_of(w, k, center), roles[k].offset_ns, chance))
                roles[k].offset_ns = 0;
    }
}

void pw_balance_judge(const struct pw_balance_input *in, const int64_t *series, size_t stride,
                      struct pw_balance_role *roles, int64_t *scratch)
{
    struct work w = {.series = series, .stride = stride};
    lay_out(&w, in, scratch);
    judge_parts(&w, roles, judge_run(&w, roles));
    for (size_t k = 0; k < in->nroles; k++)
        if (roles[k].offset_ns)
            roles[k].state = roles[k].nranks == 1                  ? PW_BALANCE_ALONE
                             : !in->is_given && is_one_host(&w, k) ? PW_BALANCE_ONE_HOST
                                                                   : PW_BALANCE_UNEQUAL;
}

void pw_balance_take_out(const struct pw_balance_input *in, const struct pw_balance_role *roles,
                         int64_t *series, size_t stride)
{
    for (size_t s = 0; s < in->nsteps; s++)
        for (size_t r = 0; r < in->nranks; r++) {
            int64_t *value = &series[(s * in->nranks + r) * stride];
            int32_t k = in->role_of[r];
            if (*value < 0 || k < 0 || (size_t)k >= in->nroles ||
                roles[k].state == PW_BALANCE_ONE_HOST)
                continue;
            *value = *value > roles[k].offset_ns ? *value - roles[k].offset_ns : 0;
        }
}
