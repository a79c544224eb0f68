/* Joins ranks to groups, numbers the groups along chains of messages, and compares the work of
 * roles; see roles.h. */
#include "analysis/roles.h"

#include <math.h>

#include "analysis/statistics.h"
#include "analysis/thresholds.h"

enum { NONE = -1, LEAST_CALLS = 10 };

/* Groups of ranks; a group is identified by its lowest rank. */
struct groups {
    size_t nranks;
    int32_t *parent;    /* [nranks] */
    int32_t *neighbour; /* [2 * nranks] two neighbours of each group; NONE: it has fewer */
    int32_t *sends;     /* [nranks] 1: the rank sends or receives messages */
    int32_t *stage_of;  /* [nranks] the caller's array; of groups until all are numbered */
    int32_t length;     /* groups in a chain; 0: no chain is numbered yet */
};

size_t pw_roles_scratch(size_t nranks)
{
    return 4 * nranks;
}

static int32_t group_of(struct groups *g, int32_t rank)
{
    while (g->parent[rank] != rank) {
        g->parent[rank] = g->parent[g->parent[rank]];
        rank = g->parent[rank];
    }
    return rank;
}

static void join(struct groups *g, int32_t a, int32_t b)
{
    a = group_of(g, a);
    b = group_of(g, b);
    if (a < b)
        g->parent[b] = a;
    else
        g->parent[a] = b;
}

/* Adds a neighbour. Returns 0 when the group has two other neighbours already. */
static int add_neighbour(struct groups *g, int32_t group, int32_t other)
{
    int32_t *of = g->neighbour + 2 * (size_t)group;
    for (int i = 0; i < 2; i++) {
        if (of[i] == other)
            return 1;
        if (of[i] == NONE) {
            of[i] = other;
            return 1;
        }
    }
    return 0;
}

static int is_rank(const struct groups *g, int32_t rank)
{
    return rank >= 0 && (size_t)rank < g->nranks;
}

/* Finds the groups and their neighbours. Returns 0 when a message stays within a group, or a group
 * has more than two neighbours. */
static int connect(struct groups *g, const struct pw_roles_input *in)
{
    for (size_t r = 0; r < in->nranks; r++) {
        g->parent[r] = (int32_t)r;
        g->neighbour[2 * r] = g->neighbour[2 * r + 1] = g->stage_of[r] = NONE;
        g->sends[r] = 0;
    }
    for (size_t i = 0; i < in->njoins; i++)
        if (is_rank(g, in->joins[i].a) && is_rank(g, in->joins[i].b))
            join(g, in->joins[i].a, in->joins[i].b);
    for (size_t i = 0; i < in->nmessages; i++) {
        const struct pw_roles_pair pair = in->messages[i];
        if (!is_rank(g, pair.a) || !is_rank(g, pair.b))
            continue;
        int32_t a = group_of(g, pair.a), b = group_of(g, pair.b);
        if (a == b || !add_neighbour(g, a, b) || !add_neighbour(g, b, a))
            return 0;
        g->sends[pair.a] = g->sends[pair.b] = 1;
    }
    for (size_t r = 0; r < in->nranks; r++)
        if (!g->sends[r])
            return 0;
    return 1;
}

/* The neighbour of the group that has no stage yet (the lower one of two); NONE when there is
 * none. */
static int32_t next_of(const struct groups *g, int32_t group)
{
    const int32_t *of = g->neighbour + 2 * (size_t)group;
    int32_t next = NONE;
    for (int i = 0; i < 2; i++)
        if (of[i] != NONE && g->stage_of[of[i]] == NONE && (next == NONE || of[i] < next))
            next = of[i];
    return next;
}

/* Numbers the groups of a chain, beginning with `group`. Returns 0 when the chain is not as long as
 * those before. */
static int number_chain(struct groups *g, int32_t group)
{
    int32_t length = 0;
    for (; group != NONE; group = next_of(g, group))
        g->stage_of[group] = length++;
    if (!g->length)
        g->length = length;
    return g->length == length;
}

static int number_all(struct groups *g, int rings)
{
    for (size_t r = 0; r < g->nranks; r++) {
        int is_end = g->neighbour[2 * r + 1] == NONE;
        if (g->parent[r] == (int32_t)r && g->stage_of[r] == NONE && (is_end || rings) &&
            !number_chain(g, (int32_t)r))
            return 0;
    }
    return 1;
}

struct pw_roles_stages pw_roles_stages(const struct pw_roles_input *in, int32_t *stage_of,
                                       int32_t *scratch)
{
    struct pw_roles_stages out = {0, 1};
    struct groups g = {
        .nranks = in->nranks,
        .parent = scratch,
        .neighbour = scratch + in->nranks,
        .sends = scratch + 3 * in->nranks,
        .stage_of = stage_of,
    };
    if (in->nranks < 2 || !connect(&g, in) || !number_all(&g, 0) || !number_all(&g, 1))
        return out;
    for (size_t r = 0; r < in->nranks; r++) {
        int32_t group = group_of(&g, (int32_t)r);
        out.is_single &= group == (int32_t)r;
        stage_of[r] = stage_of[group];
    }
    out.nstages = g.length;
    return out;
}

/* The two neighbours of a stage: the one before it, and the one after it. */
enum { BEFORE, AFTER };
struct passing {
    int64_t came[2], went[2];
    int64_t *seen, *in_order;
};

static void pass(struct passing *p, const struct pw_roles_call *call, int32_t mine, int32_t stage,
                 int32_t nstages)
{
    int side = stage == (mine + 1) % nstages ? AFTER : BEFORE;
    if (call->receives) {
        p->came[side]++;
        return;
    }
    p->went[side]++;
    if (mine == (side == AFTER ? 0 : nstages - 1))
        return; /* the first and the last stage have one neighbour only */
    (*p->seen)++;
    *p->in_order += p->came[!side] >= p->went[side];
}

int pw_roles_are_passed_on(const struct pw_roles_call *calls, size_t n, const int32_t *stage_of,
                           int32_t nstages, int64_t *scratch)
{
    int64_t *seen = scratch, *in_order = scratch + nstages, all = 0, good = 0;
    struct passing p = {0};
    for (int32_t s = 0; s < 2 * nstages; s++)
        scratch[s] = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t mine = stage_of[calls[i].rank], stage = stage_of[calls[i].peer];
        if (i == 0 || calls[i].rank != calls[i - 1].rank)
            p = (struct passing){.seen = &seen[mine], .in_order = &in_order[mine]};
        int is_next = stage == (mine + 1) % nstages || mine == (stage + 1) % nstages;
        if (is_next)
            pass(&p, &calls[i], mine, stage, nstages);
    }
    for (int32_t s = 0; s < nstages; s++) {
        all += seen[s];
        good += in_order[s];
    }
    return all >= LEAST_CALLS && (double)good >= PW_ROLE_ALIKE * (double)all;
}

/* ---- the work of roles ---- */

enum { FEWEST_STEPS = 3, PARTS = 4 };

/* The work of all ranks, in the order of their roles. */
struct work {
    const struct pw_balance_input *in;
    const int64_t *series;
    size_t stride;
    int64_t *ranks; /* [nranks] */
    int64_t *first; /* [nroles + 1] where each role begins in `ranks` */
    /* [nranks] median work of each rank, in the order of `ranks`; -1: not known */
    int64_t *medians;
    int64_t *values; /* [max(nranks, nsteps)] */
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

/* Writes the known work of the rank at a place in steps first .. end - 1 to `values`; returns how
 * many. */
static size_t collect(struct work *w, size_t place, size_t first, size_t end)
{
    const size_t nranks = w->in->nranks, rank = (size_t)w->ranks[place];
    size_t n = 0;
    for (size_t s = first; s < end; s++)
        if (w->series[(s * nranks + rank) * w->stride] >= 0)
            w->values[n++] = w->series[(s * nranks + rank) * w->stride];
    return n;
}

/* Appends the known medians of the places first .. end - 1 to the n in `values`; returns how many
 * there are. */
static size_t add_medians(struct work *w, int64_t first, int64_t end, size_t n)
{
    for (int64_t i = first; i < end; i++)
        if (w->medians[i] >= 0)
            w->values[n++] = w->medians[i];
    return n;
}

/* Fills `medians` for the steps first .. end - 1. Returns the median of these medians; -1: none is
 * known. */
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

/* The level of the role: the median of its ranks' medians, minus `center`. Of two middle values it
 * is the one nearer to `center`; 0 when they are on both sides of it. */
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

/* Three standard errors of the difference between two ranks' medians, ns. The median over the ranks
 * is used. */
static double noise_limit(struct work *w)
{
    const int64_t all = w->first[w->in->nroles];
    for (int64_t i = 0; i < all; i++) {
        size_t n = collect(w, (size_t)i, 0, w->in->nsteps);
        int64_t median = n ? pw_median_i64(w->values, n) : 0;
        for (size_t k = 0; k < n; k++)
            w->values[k] = size_of(w->values[k] - median);
        double mad = n ? (double)pw_median_i64(w->values, n) : 0;
        w->medians[i] =
            n ? (int64_t)(PW_MEDIAN_ERROR * PW_MAD_TO_SIGMA * mad / sqrt((double)n)) : -1;
    }
    size_t n = add_medians(w, 0, all, 0);
    return n ? PW_ROLE_ERRORS * sqrt(2.0) * (double)pw_median_i64(w->values, n) : 0;
}

/* 1 % of the median step, ns; a step is as long as its slowest rank's. */
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

/* 1 when the role's ranks are all on one host, and no rank of another role is on it. */
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

/* Judges all roles over the whole run. Returns the median over all ranks. */
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

/* 1 when the value has the sign of the offset and is at least half as large, within the error
 * `chance`. */
static int is_half(int64_t value, int64_t offset, int64_t chance)
{
    return offset > 0 ? 2 * (value + chance) >= offset : 2 * (value - chance) <= offset;
}

/* Rejects roles whose offset is not at least half as large in every quarter of the run. The offset
 * may be relative to the median of the quarter or of the run, because a slow rank among few can
 * move the median of a quarter: up, which does not make the level of a role with less work higher.
 * Where several were slow for a time, the median of the run makes the others such roles. */
static void judge_parts(struct work *w, struct pw_balance_role *roles, int64_t center)
{
    /* A quarter's median has twice the standard error of the run's. */
    const int64_t chance = (int64_t)(PW_ROLE_PART_ERRORS * noise_limit(w) / PW_ROLE_ERRORS);
    const size_t nsteps = w->in->nsteps, most = nsteps / FEWEST_STEPS;
    const size_t parts = most < PARTS ? most : PARTS;
    for (size_t i = 0; i < parts; i++) {
        int64_t now = find_medians(w, nsteps * i / parts, nsteps * (i + 1) / parts);
        for (size_t k = 0; k < w->in->nroles; k++)
            if (roles[k].offset_ns < 0
                    ? !is_half(level_of(w, k, now), roles[k].offset_ns, 0)
                    : !is_half(level_of(w, k, now), roles[k].offset_ns, chance) &&
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
