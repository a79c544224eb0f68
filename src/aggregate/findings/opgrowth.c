/* Self times of a few operators over the steps of each straggler, on all ranks; see opgrowth.h.
 *
 * First the files of the stragglers are read: the operators with most self time in their steps are
 * the candidates. Then the files of all ranks are read, for the self time of the candidates. Memory
 * is bounded by ranks x candidates. */
#include "aggregate/findings/opgrowth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/operators/opread.h"
#include "analysis/cause.h"
#include "analysis/thresholds.h"
#include "core/limits.h"
#include "core/sort.h"
#include "core/text.h"

enum {
    MOST_WINDOWS = PW_OPWINDOWS_MOST,
    CANDIDATES = 12,
    MOST_ITEMS = 1 << 18,
    NAME_SHOWN = 64,
    OWN = -1
};

/* An operator that waits for other ranks for more than 1 / this of its self time is not own
 * work. */
enum { MOST_WAITING_PARTS = 10 };

struct window {
    int64_t rank, first, last;
};

struct candidate {
    int64_t window, self_ns;
    uint32_t kind;
    char name[PW_OPTREE_NAME], type[PW_OPTREE_TYPE];
};

/* The self time of a candidate on one rank in one window; with the candidate OWN, all own work of
 * the rank. */
struct item {
    int64_t window, candidate, rank, ns, steps;
};

struct growth {
    struct pw_findings *findings;
    const struct pw_job *job;
    const struct pw_share *share;
    struct pw_optree *operators;
    struct window windows[MOST_WINDOWS];
    size_t nwindows;
    struct candidate *candidates; /* from all processes */
    size_t ncandidates;
};

/* The sums of one rank of this process in the windows. */
struct reading {
    struct pw_optree names;
    struct pw_opwindows sums;
    uint64_t *masks; /* memory of sums.steps */
    int64_t own_ns[MOST_WINDOWS], steps[MOST_WINDOWS];
};

static void fini_reading(struct reading *r)
{
    pw_opwindows_fini(&r->sums);
    free(r->masks);
    pw_optree_fini(&r->names);
}

static uint64_t windows_at(const struct growth *g, int64_t step)
{
    uint64_t mask = 0;
    for (size_t w = 0; w < g->nwindows; w++)
        if (step >= g->windows[w].first && step <= g->windows[w].last)
            mask |= UINT64_C(1) << w;
    return mask;
}

/* Sums up the rank in the windows. Returns 0 or -ENOMEM. A damaged file, which is noted elsewhere,
 * counts as far as it could be read. */
static int read_rank(const struct growth *g, const struct pw_input *input, struct reading *r)
{
    size_t column = (size_t)input->rank - g->share->first;
    uint64_t *masks = calloc(input->nsteps + 1, sizeof(*masks));
    *r = (struct reading){.sums = {.steps = masks, .nwindows = g->nwindows}, .masks = masks};
    if (!masks)
        return -ENOMEM;
    for (size_t i = 0; i < input->nsteps && column < g->share->count; i++) {
        ptrdiff_t at = pw_world_step_index(&g->job->world, input->steps[i].step);
        const int64_t own_ns =
            at < 0 ? -1
                   : pw_rowpack_value(&g->share->steps, column, (size_t)at, PW_STEP_MEMBER(own_ns));
        if (own_ns < 0 || input->steps[i].recorded != PW_RECORDED_ACTIVE)
            continue;
        masks[i] = windows_at(g, input->steps[i].step);
        for (size_t w = 0; w < g->nwindows; w++)
            if (masks[i] >> w & 1) {
                r->own_ns[w] = pw_sum(r->own_ns[w], own_ns);
                r->steps[w]++;
            }
    }
    return pw_opread_windows(&r->names, input, &r->sums) == -ENOMEM ? -ENOMEM : 0;
}

/* The number of the operator in another tree, which adds it if needed; negative when there is no
 * room. */
static int32_t find_op(struct pw_optree *tree, const char *name, const char *type, uint32_t kind)
{
    int64_t name_text = pw_optree_text(tree, name, PW_OPTREE_NAME);
    int64_t type_text = pw_optree_text(tree, type, PW_OPTREE_TYPE);
    if (name_text < 0 || type_text < 0)
        return -1;
    return pw_optree_op(tree, (uint32_t)name_text, (uint32_t)type_text, kind);
}

/* 1 when the operator is own work: it hardly waits for other ranks. */
static int is_work(const struct growth *g, const struct reading *r, const struct pw_opname *op)
{
    if (op->kind != PW_KIND_OPERATOR && op->kind != PW_KIND_DATA)
        return 0;
    int32_t all = find_op(g->operators, pw_optree_borrow_text(&r->names, op->name),
                          pw_optree_borrow_text(&r->names, op->type), op->kind);
    return all >= 0 && g->operators->ops[all].self_wait_ns <=
                           g->operators->ops[all].self_ns / MOST_WAITING_PARTS;
}

static int most_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Lists the operators with most self time in the window. Returns how many; `best` has room for one
 * more. */
static size_t list_best(const struct growth *g, const struct reading *r, size_t window,
                        struct candidate *best)
{
    size_t n = 0;
    for (size_t i = 0; i < r->names.nops; i++) {
        const struct pw_opname *op = &r->names.ops[i];
        int64_t self_ns = pw_opwindows_self(&r->sums, (int32_t)i, window);
        if (!self_ns || (n == CANDIDATES && self_ns <= best[n - 1].self_ns) || !is_work(g, r, op))
            continue;
        struct candidate one = {.window = (int64_t)window, .self_ns = self_ns, .kind = op->kind};
        snprintf(one.name, sizeof(one.name), "%s", pw_optree_borrow_text(&r->names, op->name));
        snprintf(one.type, sizeof(one.type), "%s", pw_optree_borrow_text(&r->names, op->type));
        best[n++] = one;
        pw_sort(best, n, sizeof(*best), most_first);
        n = n > CANDIDATES ? CANDIDATES : n;
    }
    return n;
}

/* Lists the candidates for the stragglers whose files this process reads. Returns 0 or -ENOMEM. */
static int find_candidates(struct growth *g, struct candidate *mine, size_t *n)
{
    int err = 0;
    *n = 0;
    for (size_t i = 0; i < g->job->ninputs && !err; i++) {
        const struct pw_input *input = &g->job->inputs[i];
        int is_straggler = 0;
        for (size_t w = 0; w < g->nwindows; w++)
            is_straggler |= g->windows[w].rank == input->rank;
        struct reading r = {0};
        err = is_straggler ? read_rank(g, input, &r) : 0;
        for (size_t w = 0; w < g->nwindows && is_straggler && !err; w++)
            if (g->windows[w].rank == input->rank)
                *n += list_best(g, &r, w, mine + *n);
        fini_reading(&r);
    }
    return err;
}

static void fill_items(const struct growth *g, const struct pw_input *input, struct reading *r,
                       struct item *items, size_t *n)
{
    for (size_t w = 0; w < g->nwindows; w++)
        items[(*n)++] = (struct item){(int64_t)w, OWN, input->rank, r->own_ns[w], r->steps[w]};
    for (size_t i = 0; i < g->ncandidates; i++) {
        const struct candidate *c = &g->candidates[i];
        int32_t op = find_op(&r->names, c->name, c->type, c->kind);
        items[(*n)++] =
            (struct item){c->window, (int64_t)i, input->rank,
                          pw_opwindows_self(&r->sums, op, (size_t)c->window), r->steps[c->window]};
    }
}

static int measure(const struct growth *g, struct item **items, size_t *n)
{
    int err = 0;
    *n = 0;
    *items = calloc(g->job->ninputs * (g->nwindows + g->ncandidates) + 1, sizeof(**items));
    for (size_t i = 0; i < g->job->ninputs && *items && !err; i++) {
        struct reading r;
        err = read_rank(g, &g->job->inputs[i], &r);
        if (!err)
            fill_items(g, &g->job->inputs[i], &r, *items, n);
        fini_reading(&r);
    }
    return *items ? err : -ENOMEM;
}

/* Fills per_step[nranks] with the time per step for the window and candidate of `of`; -1: not
 * known. */
static void spread(const struct growth *g, const struct item *items, size_t n,
                   const struct item *of, int64_t *per_step)
{
    for (int64_t r = 0; r < g->job->world.nranks; r++)
        per_step[r] = -1;
    for (size_t i = 0; i < n; i++)
        if (items[i].window == of->window && items[i].candidate == of->candidate &&
            items[i].steps > 0 && items[i].rank >= 0 && items[i].rank < g->job->world.nranks)
            per_step[items[i].rank] = items[i].ns / items[i].steps;
}

/* Copies at most NAME_SHOWN bytes of a name, and replaces control characters, which files may
 * contain. */
static void show_name(char out[NAME_SHOWN + 1], const char *name)
{
    size_t n = strlen(name);
    if (n > NAME_SHOWN)
        for (n = NAME_SHOWN; n && ((unsigned char)name[n] & 0xc0) == 0x80;)
            n--;
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)name[i] < ' ' || name[i] == '\x7f' ? '?' : name[i];
    out[n] = '\0';
}

static void enter(struct pw_row_c_straggler *row, const struct candidate *c,
                  const struct pw_growth *growth)
{
    char mine[16], others[16], name[NAME_SHOWN + 1], before[sizeof(row->evidence)];
    memcpy(before, row->evidence, sizeof(before));
    pw_text_ns(mine, sizeof(mine), growth->mine_ns);
    pw_text_ns(others, sizeof(others), growth->others_ns);
    show_name(name, c->name);
    snprintf(row->evidence, sizeof(row->evidence), "%.110s%s%s took %s a step, other ranks %s",
             before, before[0] ? "; " : "", name, mine, others);
    if (row->cause == PW_CAUSE_UNKNOWN)
        row->cause = PW_CAUSE_OPERATOR_GREW;
}

/* Adds evidence and causes to the stragglers, on process 0. Returns 0 or -ENOMEM. */
static int enter_all(struct growth *g, const struct item *items, size_t n)
{
    size_t nranks = (size_t)g->job->world.nranks;
    int64_t *own = malloc(3 * nranks * sizeof(*own)), *op = own + nranks, *scratch = op + nranks;
    if (!own)
        return -ENOMEM;
    for (size_t w = 0; w < g->nwindows; w++) {
        struct pw_growth best = {0};
        const struct candidate *grown = NULL;
        spread(g, items, n, &(struct item){.window = (int64_t)w, .candidate = OWN}, own);
        for (size_t i = 0; i < g->ncandidates; i++) {
            if (g->candidates[i].window != (int64_t)w)
                continue;
            spread(g, items, n, &(struct item){.window = (int64_t)w, .candidate = (int64_t)i}, op);
            struct pw_growth growth =
                pw_cause_growth(op, own, nranks, (size_t)g->windows[w].rank, scratch);
            if (growth.share > best.share) {
                best = growth;
                grown = &g->candidates[i];
            }
        }
        if (grown && best.share >= PW_CAUSE_LEAST_SHARE)
            enter(&g->findings->stragglers[w], grown, &best);
    }
    free(own);
    return 0;
}

/* Agrees on the stragglers to examine: the worst ones, as many as items fit. Collective. */
static void agree_on_windows(struct growth *g)
{
    unsigned long n = g->job->procs.process == 0 ? g->findings->nstragglers : 0;
    n = n < MOST_WINDOWS ? n : MOST_WINDOWS;
    while (n && n * (CANDIDATES + 1) * (unsigned long)g->job->world.nranks > MOST_ITEMS)
        n--;
    for (size_t w = 0; w < n; w++) {
        const struct pw_row_c_straggler *row = &g->findings->stragglers[w];
        g->windows[w] = (struct window){row->rank, row->first_step, row->last_step};
    }
    pw_ex_bcast(&n, 1, PW_EX_UNSIGNED_LONG, 0, g->job->procs.comm);
    pw_ex_bcast(g->windows, sizeof(g->windows), PW_EX_BYTE, 0, g->job->procs.comm);
    g->nwindows = n;
}

int pw_opgrowth_find(struct pw_findings *findings, const struct pw_job *job,
                     const struct pw_share *share, struct pw_optree *operators)
{
    struct growth g = {.findings = findings, .job = job, .share = share, .operators = operators};
    void *all = NULL;
    size_t n = 0;
    agree_on_windows(&g);
    if (!g.nwindows)
        return 0;
    struct candidate *mine = calloc(g.nwindows * CANDIDATES + 1, sizeof(*mine));
    int err = pw_procs_worst(&job->procs, mine ? find_candidates(&g, mine, &n) : -ENOMEM);
    if (!err)
        g.ncandidates = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &all);
    g.candidates = all;
    free(mine);
    if (err || !g.ncandidates) {
        free(all);
        return err;
    }
    struct item *items = NULL;
    void *everybody = NULL;
    err = pw_procs_worst(&job->procs, measure(&g, &items, &n));
    if (!err) {
        n = pw_procs_allgather(&job->procs, items, n, sizeof(*items), &everybody);
        err =
            pw_procs_worst(&job->procs, job->procs.process == 0 ? enter_all(&g, everybody, n) : 0);
    }
    free(items);
    free(everybody);
    free(all);
    return err;
}
