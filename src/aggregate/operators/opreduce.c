/* Joins the trees along a binary tree of processes: after round k, every 2^k-th process has its own
 * operators and those of the next 2^k - 1 processes; see opreduce.h. */
#include "aggregate/operators/opreduce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sort.h"

enum { NOBODY = -1, TAG = 71 };

/* The sizes of the data that follow. */
struct head {
    int64_t err, texts, text_bytes, ops, paths, shapes, classes, unlisted, unpeaked, nranks;
};

static uint32_t *join_texts(struct pw_optree *into, const struct pw_optree *from)
{
    uint32_t *map = malloc((from->texts.n + 1) * sizeof(*map));
    for (uint32_t i = 0; map && i < from->texts.n; i++) {
        int64_t text = pw_optree_text(into, pw_optree_borrow_text(from, i), PW_OPTREE_NAME);
        if (text < 0) {
            free(map);
            return NULL;
        }
        map[i] = (uint32_t)text;
    }
    return map;
}

static void join_op(struct pw_opname *into, const struct pw_opname *from)
{
    if (into->max_rank < 0 || from->max_own_ns > into->max_own_ns ||
        (from->max_own_ns == into->max_own_ns && from->max_rank < into->max_rank)) {
        into->max_own_ns = from->max_own_ns;
        into->max_rank = from->max_rank;
    }
    into->ranks += from->ranks;
    into->calls += from->calls;
    into->total_ns += from->total_ns;
    into->self_ns += from->self_ns;
    into->self_wait_ns += from->self_wait_ns;
}

static int32_t *join_ops(struct pw_optree *into, const struct pw_optree *from,
                         const uint32_t *texts)
{
    int32_t *map = malloc((from->nops + 1) * sizeof(*map));
    for (size_t i = 0; map && i < from->nops; i++) {
        const struct pw_opname *op = &from->ops[i];
        map[i] = pw_optree_op(into, texts[op->name], texts[op->type], op->kind);
        if (map[i] == -ENOMEM) {
            free(map);
            return NULL;
        }
        if (map[i] >= 0 && op->max_rank >= 0)
            join_op(&into->ops[map[i]], op);
    }
    return map;
}

static int join_paths(struct pw_optree *into, const struct pw_optree *from, const int32_t *ops)
{
    int32_t *map = malloc((from->npaths + 1) * sizeof(*map));
    int err = map ? 0 : -ENOMEM;
    for (size_t i = 0; i < from->npaths && !err; i++) {
        const struct pw_oppath *path = &from->paths[i];
        int32_t parent = path->parent < 0 ? NOBODY : map[path->parent];
        map[i] = ops[path->op] < 0 ? NOBODY : pw_optree_path(into, parent, ops[path->op]);
        err = map[i] == -ENOMEM ? -ENOMEM : 0;
        if (map[i] >= 0)
            err = pw_opsum_join(&into->paths[map[i]].sum, &path->sum);
        else
            into->unlisted += path->sum.calls;
        map[i] = map[i] < 0 ? NOBODY : map[i];
    }
    free(map);
    return err;
}

static int join_shapes(struct pw_optree *into, const struct pw_optree *from, const uint32_t *texts,
                       const int32_t *ops)
{
    int err = 0;
    for (size_t i = 0; i < from->nshapes && !err; i++) {
        const struct pw_opshape *shape = &from->shapes[i];
        int32_t op = ops[shape->op];
        int32_t at = op < 0 ? NOBODY : pw_optree_shape(into, op, texts[shape->shapes]);
        err = at == -ENOMEM ? -ENOMEM : 0;
        if (at >= 0)
            err = pw_opsum_join(&into->shapes[at].sum, &shape->sum);
    }
    return err;
}

int pw_opreduce_join(struct pw_optree *into, const struct pw_optree *from)
{
    uint32_t *texts = join_texts(into, from);
    int32_t *ops = texts ? join_ops(into, from, texts) : NULL;
    int err = ops ? join_paths(into, from, ops) : -ENOMEM;
    err = err ? err : join_shapes(into, from, texts, ops);
    into->unlisted += from->unlisted;
    into->unpeaked += from->unpeaked;
    into->nranks += from->nranks;
    free(texts);
    free(ops);
    return err;
}

/* Sends or receives bytes, in pieces that MPI's int can count. */
static void pass_on(void *bytes, size_t size, int other, int receive, pw_ex_comm comm)
{
    enum { PIECE = 1 << 28 };
    for (size_t at = 0; at < size; at += PIECE) {
        int n = size - at < PIECE ? (int)(size - at) : PIECE;
        if (receive)
            pw_ex_recv((char *)bytes + at, n, PW_EX_BYTE, other, TAG, comm);
        else
            pw_ex_send((char *)bytes + at, n, PW_EX_BYTE, other, TAG, comm);
    }
}

/* Packs the classes of all sketches, first those of paths, then those of shapes. NULL when memory
 * is short. */
static uint64_t *pack_classes(const struct pw_optree *tree, int64_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < tree->npaths; i++)
        n += tree->paths[i].sum.times.n;
    for (size_t i = 0; i < tree->nshapes; i++)
        n += tree->shapes[i].sum.times.n;
    uint64_t *all = malloc((n + 1) * sizeof(*all));
    n = 0;
    for (size_t i = 0; all && i < tree->npaths + tree->nshapes; i++) {
        const struct pw_sketch *s = i < tree->npaths ? &tree->paths[i].sum.times
                                                     : &tree->shapes[i - tree->npaths].sum.times;
        if (s->n)
            memcpy(all + n, s->v, s->n * sizeof(*all));
        n += s->n;
    }
    *count = (int64_t)n;
    return all;
}

static void send_tree(struct pw_optree *tree, int to, pw_ex_comm comm, int err)
{
    struct head head = {.err = err};
    uint64_t *classes = err ? NULL : pack_classes(tree, &head.classes);
    if (!classes) {
        head.err = -ENOMEM;
        pass_on(&head, sizeof(head), to, 0, comm);
        return;
    }
    head.texts = tree->texts.n;
    head.text_bytes = (int64_t)tree->texts.used;
    head.ops = (int64_t)tree->nops;
    head.paths = (int64_t)tree->npaths;
    head.shapes = (int64_t)tree->nshapes;
    head.unlisted = tree->unlisted;
    head.unpeaked = tree->unpeaked;
    head.nranks = tree->nranks;
    pass_on(&head, sizeof(head), to, 0, comm);
    pass_on(tree->texts.bytes, tree->texts.used, to, 0, comm);
    pass_on(tree->texts.at, tree->texts.n * sizeof(*tree->texts.at), to, 0, comm);
    pass_on(tree->ops, tree->nops * sizeof(*tree->ops), to, 0, comm);
    pass_on(tree->paths, tree->npaths * sizeof(*tree->paths), to, 0, comm);
    pass_on(tree->shapes, tree->nshapes * sizeof(*tree->shapes), to, 0, comm);
    pass_on(classes, (size_t)head.classes * sizeof(*classes), to, 0, comm);
    free(classes);
}

/* Makes the sketches, which borrow the classes. */
static void unpack_classes(struct pw_optree *tree, uint64_t *classes)
{
    for (size_t i = 0; i < tree->npaths + tree->nshapes; i++) {
        struct pw_sketch *s = i < tree->npaths ? &tree->paths[i].sum.times
                                               : &tree->shapes[i - tree->npaths].sum.times;
        s->v = classes;
        classes += s->n;
    }
}

static void receive_arrays(struct pw_optree *from, const struct head *head, uint64_t *classes,
                           int other, pw_ex_comm comm)
{
    pass_on(from->texts.bytes, (size_t)head->text_bytes, other, 1, comm);
    pass_on(from->texts.at, (size_t)head->texts * sizeof(*from->texts.at), other, 1, comm);
    pass_on(from->ops, from->nops * sizeof(*from->ops), other, 1, comm);
    pass_on(from->paths, from->npaths * sizeof(*from->paths), other, 1, comm);
    pass_on(from->shapes, from->nshapes * sizeof(*from->shapes), other, 1, comm);
    pass_on(classes, (size_t)head->classes * sizeof(*classes), other, 1, comm);
}

/* Allocates memory to receive. When memory is short, the whole merge ends, because the sender is
 * already sending. */
static void *must_have(size_t bytes, pw_ex_comm comm)
{
    void *room = malloc(bytes + 1);
    if (!room)
        pw_ex_abort(comm, 1);
    return room;
}

static int receive_tree(struct pw_optree *into, int other, pw_ex_comm comm, int err)
{
    struct head head;
    struct pw_optree from = {0};
    pass_on(&head, sizeof(head), other, 1, comm);
    if (head.err)
        return (int)head.err;
    from.nops = (size_t)head.ops;
    from.npaths = (size_t)head.paths;
    from.nshapes = (size_t)head.shapes;
    from.texts.n = (uint32_t)head.texts;
    from.unlisted = head.unlisted;
    from.unpeaked = head.unpeaked;
    from.nranks = (int32_t)head.nranks;
    from.texts.bytes = must_have((size_t)head.text_bytes, comm);
    from.texts.at = must_have((size_t)head.texts * sizeof(*from.texts.at), comm);
    from.ops = must_have(from.nops * sizeof(*from.ops), comm);
    from.paths = must_have(from.npaths * sizeof(*from.paths), comm);
    from.shapes = must_have(from.nshapes * sizeof(*from.shapes), comm);
    uint64_t *classes = must_have((size_t)head.classes * sizeof(*classes), comm);
    receive_arrays(&from, &head, classes, other, comm);
    unpack_classes(&from, classes);
    err = err ? err : pw_opreduce_join(into, &from);
    free(classes);
    from.npaths = from.nshapes = 0; /* their sketches are borrowed, and must not be freed */
    pw_optree_fini(&from);
    return err;
}

int pw_opreduce(struct pw_optree *tree, pw_ex_comm comm, int err)
{
    int process, processes, worst;
    pw_ex_rank(comm, &process);
    pw_ex_size(comm, &processes);
    for (int step = 1; step < processes; step *= 2) {
        if (process % (2 * step)) {
            send_tree(tree, process - step, comm, err);
            break;
        }
        if (process + step < processes)
            err = receive_tree(tree, process + step, comm, err);
    }
    pw_ex_allreduce(&err, &worst, 1, PW_EX_INT, PW_EX_MIN, comm);
    return worst;
}

/* ---- figures of each rank ---- */

struct wanted {
    char name[PW_OPTREE_NAME], type[PW_OPTREE_TYPE];
    uint32_t kind;
    int32_t row;
};

static void name_all(const struct pw_optree *tree, const struct pw_opcells *from,
                     struct wanted *wanted)
{
    for (size_t i = 0; i < from->n; i++) {
        const struct pw_opname *op = &tree->ops[from->ops[i]];
        snprintf(wanted[i].name, sizeof(wanted->name), "%s", pw_optree_borrow_text(tree, op->name));
        snprintf(wanted[i].type, sizeof(wanted->type), "%s", pw_optree_borrow_text(tree, op->type));
        wanted[i].kind = op->kind;
        wanted[i].row = from->rows[i];
    }
}

/* Returns for each operator of this process its index in `wanted`, or -1; malloc'ed. NULL when
 * memory is short. */
static int32_t *find_wanted(struct pw_optree *tree, const struct wanted *wanted, size_t n)
{
    int32_t *which = malloc((tree->nops + n + 1) * sizeof(*which));
    for (size_t i = 0; which && i < tree->nops + n; i++)
        which[i] = -1;
    for (size_t i = 0; which && i < n; i++) {
        int64_t name = pw_optree_text(tree, wanted[i].name, sizeof(wanted->name));
        int64_t type = pw_optree_text(tree, wanted[i].type, sizeof(wanted->type));
        int32_t op = name < 0 || type < 0
                         ? -1
                         : pw_optree_op(tree, (uint32_t)name, (uint32_t)type, wanted[i].kind);
        if (op >= 0)
            which[op] = (int32_t)i;
    }
    return which;
}

static int by_operator_and_rank(const void *a, const void *b)
{
    const struct pw_row_c_operator_rank *x = a, *y = b;
    if (x->operator_row != y->operator_row)
        return x->operator_row < y->operator_row ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int64_t at_least_0(pw_wide ns)
{
    return ns > 0 ? pw_narrow(ns) : 0;
}

/* Copies the wanted cells of this process to `out` as rows; cells of all operators together are
 * always wanted. Returns how many. */
static size_t pick_cells(const struct pw_optree *tree, const int32_t *which,
                         const struct wanted *wanted, struct pw_row_c_operator_rank *out)
{
    size_t n = 0;
    for (size_t i = 0; i < tree->ncells; i++) {
        const struct pw_opcell *cell = &tree->cells[i];
        if (cell->op >= 0 && which[cell->op] < 0)
            continue;
        out[n++] = (struct pw_row_c_operator_rank){
            .operator_row = cell->op < 0 ? -1 : wanted[which[cell->op]].row,
            .rank = cell->rank,
            .calls = cell->calls,
            .total_ns = pw_narrow(cell->total_ns),
            .self_ns = at_least_0(cell->self_ns),
            .self_wait_ns = at_least_0(cell->self_wait_ns),
        };
    }
    return n;
}

int pw_opcells_gather(const struct pw_procs *procs, struct pw_optree *tree,
                      const struct pw_opcells *from, struct pw_row_c_operator_rank **out,
                      size_t *total)
{
    struct wanted *wanted = calloc(PW_OPCELLS_MOST, sizeof(*wanted));
    unsigned long n = procs->process == 0 ? from->n : 0;
    if (!pw_procs_all_ok(procs, wanted != NULL))
        pw_procs_out_of_memory(procs);
    if (procs->process == 0)
        name_all(tree, from, wanted);
    pw_ex_bcast(&n, 1, PW_EX_UNSIGNED_LONG, 0, procs->comm);
    pw_ex_bcast(wanted, (int)(n * sizeof(*wanted)), PW_EX_BYTE, 0, procs->comm);
    int32_t *which = find_wanted(tree, wanted, n);
    struct pw_row_c_operator_rank *mine = calloc(tree->ncells + 1, sizeof(*mine));
    size_t count = which && mine ? pick_cells(tree, which, wanted, mine) : 0;
    int err = which && mine ? 0 : -ENOMEM;
    void *all = NULL;
    *total = pw_procs_allgather(procs, mine, count, sizeof(*mine), &all);
    pw_sort(all, *total, sizeof(*mine), by_operator_and_rank);
    *out = all;
    free(which);
    free(mine);
    free(wanted);
    return pw_procs_worst(procs, err);
}
