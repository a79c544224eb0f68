/* Makes the rows of operators from the tree of process 0, which has joined those of all processes;
 * see operators.h. */
#include "aggregate/operators/operators.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/operators/opreduce.h"
#include "core/sort.h"

/* The fields that all four tables share, in the order of PW_OPERATOR_STAT_FIELDS. */
struct figures {
    int64_t calls, total_ns, self_ns, self_wait_ns, min_ns, mean_ns, max_ns, p50_ns, p95_ns,
        alloc_bytes, self_alloc_bytes, peak_alloc_bytes;
};

static_assert(offsetof(struct pw_row_c_operator, share) -
                      offsetof(struct pw_row_c_operator, calls) ==
                  sizeof(struct figures),
              "the figures of an operator are these");

struct making {
    struct pw_operators *out;
    struct pw_optree *tree;
    struct pw_opsum *sums; /* [nops] */
    int32_t *order;        /* [nops] operators, most self time first */
    int32_t *place;        /* [nops] index of each operator in `order` */
    pw_wide all_self_ns;
};

static int64_t clamp(pw_wide value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : (int64_t)value;
}

static int64_t self_of(const struct pw_opsum *sum)
{
    return clamp(sum->total_ns - sum->inner_ns, 0, INT64_MAX);
}

static struct figures figures_of(const struct pw_opsum *sum)
{
    int64_t p50 = pw_sketch_quantile(&sum->times, 0.5), p95 = pw_sketch_quantile(&sum->times, 0.95);
    return (struct figures){
        .calls = sum->calls,
        .total_ns = pw_narrow(sum->total_ns),
        .self_ns = self_of(sum),
        .self_wait_ns = clamp(sum->wait_ns - sum->inner_wait_ns, 0, self_of(sum)),
        .min_ns = sum->min_ns,
        .mean_ns = sum->calls ? pw_narrow(sum->total_ns / sum->calls) : -1,
        .max_ns = sum->max_ns,
        .p50_ns = clamp(p50, sum->min_ns, sum->max_ns),
        .p95_ns = clamp(p95, sum->min_ns, sum->max_ns),
        .alloc_bytes = pw_narrow(sum->alloc_bytes),
        .self_alloc_bytes = pw_narrow(sum->alloc_bytes - sum->inner_alloc_bytes),
        .peak_alloc_bytes = sum->peak_alloc_bytes,
    };
}

static double share_of(const struct making *m, pw_wide ns)
{
    return m->all_self_ns > 0 ? (double)ns / (double)m->all_self_ns : 0;
}

/* Frames of functions are no work: the operators directly inside a function count as directly
 * inside the operator around it. */
static void enter_functions(struct pw_optree *tree)
{
    for (size_t i = 0; i < tree->npaths; i++) {
        const struct pw_oppath *path = &tree->paths[i];
        struct pw_oppath *above = path->parent < 0 ? NULL : &tree->paths[path->parent];
        if (!above || pw_opname_counts(&tree->ops[above->op]))
            continue;
        above->sum.inner_ns += path->sum.total_ns;
        above->sum.inner_wait_ns += path->sum.wait_ns;
        above->sum.inner_alloc_bytes += path->sum.alloc_bytes;
    }
}

static int compare_names(const struct pw_optree *tree, const struct pw_opname *a,
                         const struct pw_opname *b)
{
    int order = strcmp(pw_optree_borrow_text(tree, a->name), pw_optree_borrow_text(tree, b->name));
    order =
        order ? order
              : strcmp(pw_optree_borrow_text(tree, a->type), pw_optree_borrow_text(tree, b->type));
    return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static int by_self(const void *a, const void *b, void *context)
{
    const struct making *m = context;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    int64_t self_x = self_of(&m->sums[x]), self_y = self_of(&m->sums[y]);
    if (self_x != self_y)
        return self_x > self_y ? -1 : 1;
    if (m->sums[x].total_ns != m->sums[y].total_ns)
        return m->sums[x].total_ns > m->sums[y].total_ns ? -1 : 1;
    return compare_names(m->tree, &m->tree->ops[x], &m->tree->ops[y]);
}

static int sum_and_order(struct making *m)
{
    const struct pw_optree *tree = m->tree;
    m->sums = calloc(tree->nops + 1, sizeof(*m->sums));
    m->order = malloc((tree->nops + 1) * sizeof(*m->order));
    m->place = malloc((tree->nops + 1) * sizeof(*m->place));
    int err = m->sums && m->order && m->place ? 0 : -ENOMEM;
    for (size_t i = 0; i < tree->nops && !err; i++) {
        m->sums[i].min_ns = INT64_MAX;
        m->order[i] = (int32_t)i;
    }
    for (size_t i = 0; i < tree->npaths && !err; i++)
        err = pw_opsum_join(&m->sums[tree->paths[i].op], &tree->paths[i].sum);
    if (err)
        return err;
    qsort_r(m->order, tree->nops, sizeof(*m->order), by_self, m);
    for (size_t i = 0; i < tree->nops; i++) {
        m->place[m->order[i]] = (int32_t)i;
        if (pw_opname_counts(&tree->ops[i]))
            m->all_self_ns += self_of(&m->sums[i]);
    }
    return 0;
}

/* Returns the row of an operator in /operators. The last row is for all operators without a row of
 * their own. */
static int32_t row_of(const struct making *m, int32_t op)
{
    return m->place[op] < PW_OPERATORS_MOST ? m->place[op] : PW_OPERATORS_MOST;
}

static void fill_op(const struct making *m, int32_t op, struct pw_row_c_operator *row)
{
    const struct pw_opname *name = &m->tree->ops[op];
    struct figures figures = figures_of(&m->sums[op]);
    snprintf(row->name, sizeof(row->name), "%s", pw_optree_borrow_text(m->tree, name->name));
    snprintf(row->type, sizeof(row->type), "%s", pw_optree_borrow_text(m->tree, name->type));
    memcpy(&row->calls, &figures, sizeof(figures));
    row->kind = (uint8_t)name->kind;
    row->ranks = name->ranks;
    row->max_rank = row->max_rank_own_ns = -1;
    row->share = row->imbalance = -1;
    if (!pw_opname_counts(name))
        return;
    row->share = share_of(m, figures.self_ns);
    row->max_rank = name->max_rank;
    row->max_rank_own_ns = clamp(name->max_own_ns, 0, INT64_MAX);
    double own = (double)(figures.self_ns - figures.self_wait_ns);
    if (own > 0)
        row->imbalance = (double)row->max_rank_own_ns * m->tree->nranks / own;
}

static int fill_others(const struct making *m, struct pw_row_c_operator *row)
{
    struct pw_opsum sum = {.min_ns = INT64_MAX};
    pw_wide self_ns = 0;
    int err = 0;
    for (size_t i = PW_OPERATORS_MOST; i < m->tree->nops && !err; i++) {
        const struct pw_opsum *more = &m->sums[m->order[i]];
        err = pw_opsum_join(&sum, more);
        if (pw_opname_counts(&m->tree->ops[m->order[i]]))
            self_ns += self_of(more);
    }
    struct figures figures = figures_of(&sum);
    memcpy(&row->calls, &figures, sizeof(figures));
    snprintf(row->name, sizeof(row->name), "(%zu others)", m->tree->nops - PW_OPERATORS_MOST);
    snprintf(row->type, sizeof(row->type), "(others)");
    row->kind = PW_KIND_USER;
    row->self_ns = pw_narrow(self_ns);
    row->share = share_of(m, self_ns);
    row->ranks = row->max_rank = -1;
    row->max_rank_own_ns = -1;
    row->imbalance = -1;
    pw_sketch_fini(&sum.times);
    return err;
}

static int make_ops(struct making *m)
{
    size_t n = m->tree->nops < PW_OPERATORS_MOST ? m->tree->nops : PW_OPERATORS_MOST;
    m->out->ops = calloc(n + 1, sizeof(*m->out->ops));
    if (!m->out->ops)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        fill_op(m, m->order[i], &m->out->ops[i]);
    m->out->nops = n;
    if (n == m->tree->nops)
        return 0;
    m->out->nops++;
    return fill_others(m, &m->out->ops[n]);
}

static int by_type(const void *a, const void *b, void *context)
{
    const struct making *m = context;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    int order = strcmp(pw_optree_borrow_text(m->tree, m->tree->ops[x].type),
                       pw_optree_borrow_text(m->tree, m->tree->ops[y].type));
    return order ? order : m->place[x] - m->place[y];
}

static int types_by_self(const void *a, const void *b)
{
    const struct pw_row_c_operator_type *x = a, *y = b;
    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return strncmp(x->type, y->type, sizeof(x->type));
}

/* Fills the row of a type from its operators by[first .. end). Returns 0 or -ENOMEM. */
static int fill_type(const struct making *m, const int32_t *by, size_t first, size_t end,
                     struct pw_row_c_operator_type *row)
{
    struct pw_opsum sum = {.min_ns = INT64_MAX};
    int err = 0;
    for (size_t i = first; i < end && !err; i++)
        err = pw_opsum_join(&sum, &m->sums[by[i]]);
    struct figures figures = figures_of(&sum);
    memcpy(&row->calls, &figures, sizeof(figures));
    snprintf(row->type, sizeof(row->type), "%s",
             pw_optree_borrow_text(m->tree, m->tree->ops[by[first]].type));
    row->names = (int64_t)(end - first);
    row->share = share_of(m, figures.self_ns);
    pw_sketch_fini(&sum.times);
    return err;
}

static int make_types(struct making *m)
{
    const struct pw_optree *tree = m->tree;
    int32_t *by = malloc((tree->nops + 1) * sizeof(*by));
    struct pw_row_c_operator_type *rows = calloc(tree->nops + 1, sizeof(*rows));
    size_t n = 0, made = 0;
    int err = by && rows ? 0 : -ENOMEM;
    for (size_t i = 0; i < tree->nops && !err; i++)
        if (pw_opname_counts(&tree->ops[i]))
            by[n++] = (int32_t)i;
    if (!err)
        qsort_r(by, n, sizeof(*by), by_type, m);
    for (size_t at = 0, end; at < n && !err; at = end) {
        for (end = at + 1; end < n && tree->ops[by[end]].type == tree->ops[by[at]].type;)
            end++;
        err = fill_type(m, by, at, end, &rows[made++]);
    }
    pw_sort(rows, made, sizeof(*rows), types_by_self);
    free(by);
    m->out->types = rows;
    m->out->ntypes = made < PW_OPERATORS_MOST ? made : PW_OPERATORS_MOST;
    return err;
}

static int by_op_and_self(const void *a, const void *b, void *context)
{
    const struct making *m = context;
    const struct pw_opshape *x = &m->tree->shapes[*(const int32_t *)a];
    const struct pw_opshape *y = &m->tree->shapes[*(const int32_t *)b];
    int64_t self_x = self_of(&x->sum), self_y = self_of(&y->sum);
    if (x->op != y->op)
        return m->place[x->op] - m->place[y->op];
    if (self_x != self_y)
        return self_x > self_y ? -1 : 1;
    return strcmp(pw_optree_borrow_text(m->tree, x->shapes),
                  pw_optree_borrow_text(m->tree, y->shapes));
}

static void fill_shape(const struct making *m, const struct pw_opshape *shape,
                       struct pw_row_c_operator_shape *row)
{
    struct figures figures = figures_of(&shape->sum);
    memcpy(&row->calls, &figures, sizeof(figures));
    row->operator_row = row_of(m, shape->op);
    snprintf(row->shapes, sizeof(row->shapes), "%s", pw_optree_borrow_text(m->tree, shape->shapes));
}

static int make_shapes(struct making *m)
{
    const struct pw_optree *tree = m->tree;
    int32_t *by = malloc((tree->nshapes + 1) * sizeof(*by));
    size_t n = tree->nshapes < PW_OPERATORS_MOST ? tree->nshapes : PW_OPERATORS_MOST;
    m->out->shapes = calloc(n + 1, sizeof(*m->out->shapes));
    int err = by && m->out->shapes ? 0 : -ENOMEM;
    for (size_t i = 0; i < tree->nshapes && !err; i++)
        by[i] = (int32_t)i;
    if (!err)
        qsort_r(by, tree->nshapes, sizeof(*by), by_op_and_self, m);
    for (size_t i = 0; i < n && !err; i++)
        fill_shape(m, &tree->shapes[by[i]], &m->out->shapes[i]);
    m->out->nshapes = err ? 0 : n;
    free(by);
    return err;
}

/* The call paths, sorted level by level, so that a parent's row is known before its children's. */
struct levels {
    const struct making *m;
    int32_t *row; /* [npaths] -1: none */
    int32_t *by;  /* [npaths] paths sorted by depth */
    /* [npaths] depth of each path; [levels + 1] where each level begins in `by` */
    size_t *depth, *first;
    pw_wide *below_ns; /* [npaths] total time of the paths directly inside */
    size_t levels;
    int64_t least_ns; /* least total of a path that is kept */
};

static int by_parent_and_total(const void *a, const void *b, void *context)
{
    const struct levels *l = context;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    const struct pw_oppath *p = &l->m->tree->paths[x], *q = &l->m->tree->paths[y];
    int32_t row_p = p->parent < 0 ? -1 : l->row[p->parent];
    int32_t row_q = q->parent < 0 ? -1 : l->row[q->parent];
    if (row_p != row_q)
        return row_p < row_q ? -1 : 1;
    if (p->sum.total_ns != q->sum.total_ns)
        return p->sum.total_ns > q->sum.total_ns ? -1 : 1;
    return l->m->place[p->op] - l->m->place[q->op];
}

static int totals_down(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static int find_least(struct levels *l)
{
    const struct pw_optree *tree = l->m->tree;
    if (tree->npaths <= PW_OPERATORS_MOST)
        return 0;
    int64_t *totals = malloc(tree->npaths * sizeof(*totals));
    if (!totals)
        return -ENOMEM;
    for (size_t i = 0; i < tree->npaths; i++)
        totals[i] = pw_narrow(tree->paths[i].sum.total_ns);
    pw_sort(totals, tree->npaths, sizeof(*totals), totals_down);
    l->least_ns = totals[PW_OPERATORS_MOST - 1];
    free(totals);
    return 0;
}

static void sort_into_levels(struct levels *l)
{
    const struct pw_optree *tree = l->m->tree;
    for (size_t i = 0; i < tree->npaths; i++) {
        int32_t parent = tree->paths[i].parent;
        l->depth[i] = parent < 0 ? 0 : l->depth[parent] + 1;
        l->first[l->depth[i] + 1]++;
        l->levels = l->depth[i] + 1 > l->levels ? l->depth[i] + 1 : l->levels;
        if (parent >= 0)
            l->below_ns[parent] += tree->paths[i].sum.total_ns;
        l->row[i] = -1;
    }
    for (size_t d = 0; d < l->levels; d++)
        l->first[d + 1] += l->first[d];
    for (size_t i = tree->npaths; i-- > 0;) /* backwards: first[d + 1] moves down to first[d] */
        l->by[--l->first[l->depth[i] + 1]] = (int32_t)i;
    memmove(l->first, l->first + 1, l->levels * sizeof(*l->first));
    l->first[l->levels] = tree->npaths;
}

static void fill_level(struct levels *l, size_t level, struct pw_operators *out)
{
    const struct making *m = l->m;
    size_t first = l->first[level], end = l->first[level + 1];
    qsort_r(l->by + first, end - first, sizeof(*l->by), by_parent_and_total, l);
    for (size_t i = first; i < end && out->nstacks < PW_OPERATORS_MOST; i++) {
        const struct pw_oppath *path = &m->tree->paths[l->by[i]];
        int32_t parent = path->parent < 0 ? -1 : l->row[path->parent];
        if (path->sum.total_ns < l->least_ns || (path->parent >= 0 && parent < 0))
            continue;
        struct pw_row_c_operator_stack *row = &out->stacks[out->nstacks];
        struct figures figures = figures_of(&path->sum);
        pw_wide exclusive = path->sum.total_ns - l->below_ns[l->by[i]];
        memcpy(&row->calls, &figures, sizeof(figures));
        row->parent = parent;
        row->operator_row = row_of(m, path->op);
        row->exclusive_ns = clamp(exclusive, 0, INT64_MAX);
        l->row[l->by[i]] = (int32_t)out->nstacks++;
    }
}

static int make_stacks(struct making *m)
{
    size_t n = m->tree->npaths, kept = n < PW_OPERATORS_MOST ? n : PW_OPERATORS_MOST;
    struct levels l = {
        .m = m,
        .row = malloc((n + 1) * sizeof(*l.row)),
        .by = malloc((n + 1) * sizeof(*l.by)),
        .depth = malloc((n + 1) * sizeof(*l.depth)),
        .first = calloc(n + 2, sizeof(*l.first)),
        .below_ns = calloc(n + 1, sizeof(*l.below_ns)),
    };
    m->out->stacks = calloc(kept + 1, sizeof(*m->out->stacks));
    int err = l.row && l.by && l.depth && l.first && l.below_ns && m->out->stacks ? find_least(&l)
                                                                                  : -ENOMEM;
    if (!err)
        sort_into_levels(&l);
    for (size_t level = 0; level < l.levels && !err; level++)
        fill_level(&l, level, m->out);
    free(l.row);
    free(l.by);
    free(l.depth);
    free(l.first);
    free(l.below_ns);
    return err;
}

int pw_oprows_make(struct pw_operators *out, struct pw_optree *tree, int32_t **order)
{
    struct making m = {.out = out, .tree = tree};
    enter_functions(tree);
    int err = sum_and_order(&m);
    err = err ? err : make_ops(&m);
    err = err ? err : make_types(&m);
    err = err ? err : make_shapes(&m);
    err = err ? err : make_stacks(&m);
    for (size_t i = 0; i < tree->nops && m.sums; i++)
        pw_sketch_fini(&m.sums[i].times);
    free(m.sums);
    free(m.place);
    *order = m.order;
    return err;
}

static int make_ranks(struct pw_operators *out, struct pw_procs *procs, struct pw_optree *tree,
                      const int32_t *order)
{
    static_assert((int)PW_OPERATORS_BY_RANK <= (int)PW_OPCELLS_MOST,
                  "all of them can be asked for");
    struct pw_opcells wanted = {.n = 0};
    for (size_t i = 0; procs->process == 0 && i < tree->nops && i < PW_OPERATORS_MOST &&
                       wanted.n < PW_OPERATORS_BY_RANK;
         i++)
        if (pw_opname_counts(&tree->ops[order[i]])) {
            wanted.ops[wanted.n] = order[i];
            wanted.rows[wanted.n++] = (int32_t)i;
        }
    return pw_opcells_gather(procs, tree, &wanted, &out->ranks, &out->nranks);
}

int pw_operators_make(struct pw_operators *out, struct pw_job *job, struct pw_optree *tree, int err)
{
    int32_t *order = NULL;
    *out = (struct pw_operators){0};
    err = pw_opreduce(tree, job->procs.comm, err);
    if (err)
        return err;
    if (job->procs.process == 0)
        err = pw_oprows_make(out, tree, &order);
    pw_ex_bcast(&err, 1, PW_EX_INT, 0, job->procs.comm);
    err = err ? err : make_ranks(out, &job->procs, tree, order);
    if (job->procs.process == 0 && tree->unlisted && !err)
        pw_job_note(
            job, -1, "operators_unlisted", tree->unlisted,
            "calls of operators beyond the number of names, call paths or shapes that can be kept");
    if (job->procs.process == 0 && tree->unpeaked && !err)
        pw_job_note(
            job, -1, "operators_unpeaked", tree->unpeaked,
            "ranks without memory peaks, because too many threads reported memory in turns");
    free(order);
    return err;
}

void pw_operators_fini(struct pw_operators *o)
{
    free(o->ops);
    free(o->types);
    free(o->shapes);
    free(o->stacks);
    free(o->ranks);
    *o = (struct pw_operators){0};
}
