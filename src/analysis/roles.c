/* The stages of a pipeline, from groups and messages; see roles.h. */
#include "analysis/roles.h"

enum { NONE = -1, LEAST_CALLS = 10 };
#define LEAST_SHARE 0.95

/* Groups are named by their lowest rank. */
struct groups {
    size_t nranks;
    int32_t *parent;    /* [nranks] */
    int32_t *neighbour; /* [2 * nranks] of a group, NONE */
    int32_t *sends;     /* [nranks] 1: the rank sends or receives messages */
    int32_t *stage_of;  /* [nranks] while it is built, of groups */
    int32_t length;     /* of the chains, 0 before the first */
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

/* 0 when the group has two others already. */
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

/* Groups and their neighbours; 0 when messages stay in a group, or go to more than two. */
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

/* The other of its neighbours that has no stage yet, the lower first. */
static int32_t next_of(const struct groups *g, int32_t group)
{
    const int32_t *of = g->neighbour + 2 * (size_t)group;
    int32_t next = NONE;
    for (int i = 0; i < 2; i++)
        if (of[i] != NONE && g->stage_of[of[i]] == NONE && (next == NONE || of[i] < next))
            next = of[i];
    return next;
}

/* Numbers the groups of the chain from `group` on; 0 when it is not as long as those before. */
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

/* Of one rank: messages that came from either neighbour, and that went to it. */
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
        return; /* the first stage begins what goes up, the last what comes back */
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
    return all >= LEAST_CALLS && (double)good >= LEAST_SHARE * (double)all;
}
