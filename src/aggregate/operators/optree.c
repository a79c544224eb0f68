/* Tables of names, paths and shapes, found by hash; a quantile sketch is a short sorted list of
 * classes. See optree.h. */
#include "aggregate/operators/optree.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/limits.h"
#include "core/sort.h"
#include "core/tables.h"

/* ---- quantiles of durations ---- */

enum { FINE_BITS = 5, COUNT_BITS = 48 };

static const uint64_t count_mask = ((uint64_t)1 << COUNT_BITS) - 1;

/* Returns the class of a duration; below 64 ns each value has its own class. */
static uint64_t class_of(int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    if (value < (1 << FINE_BITS))
        return value;
    int shift = 63 - __builtin_clzll(value) - FINE_BITS;
    return ((uint64_t)(shift + 1) << FINE_BITS) + (value >> shift) - (1 << FINE_BITS);
}

static int64_t middle_of(uint64_t number)
{
    if (number < (1 << FINE_BITS))
        return (int64_t)number;
    int shift = (int)(number >> FINE_BITS) - 1;
    uint64_t fine = (number & ((1 << FINE_BITS) - 1)) + (1 << FINE_BITS);
    return (int64_t)((fine << shift) + (((uint64_t)1 << shift) >> 1));
}

static int insert(struct pw_sketch *s, uint32_t at, uint64_t entry)
{
    size_t capacity = s->capacity;
    uint64_t *v = pw_grow(s->v, s->n, sizeof(*v), &capacity);
    if (!v)
        return -ENOMEM;
    s->v = v;
    s->capacity = (uint32_t)capacity;
    memmove(s->v + at + 1, s->v + at, (s->n - at) * sizeof(*s->v));
    s->v[at] = entry;
    s->n++;
    return 0;
}

static int add_class(struct pw_sketch *s, uint64_t number, uint64_t count)
{
    uint32_t low = 0, high = s->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->v[middle] >> COUNT_BITS < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == s->n || s->v[low] >> COUNT_BITS != number)
        return insert(s, low, number << COUNT_BITS | (count & count_mask));
    uint64_t room = count_mask - (s->v[low] & count_mask);
    s->v[low] += count < room ? count : room;
    return 0;
}

int pw_sketch_add(struct pw_sketch *s, int64_t ns, uint64_t count)
{
    return add_class(s, class_of(ns), count);
}

int pw_sketch_join(struct pw_sketch *into, const uint64_t *v, size_t n)
{
    int err = 0;
    for (size_t i = 0; i < n && !err; i++)
        err = add_class(into, v[i] >> COUNT_BITS, v[i] & count_mask);
    return err;
}

int64_t pw_sketch_quantile(const struct pw_sketch *s, double q)
{
    uint64_t all = 0, seen = 0;
    for (uint32_t i = 0; i < s->n; i++)
        all += s->v[i] & count_mask;
    double wanted = ceil(q * (double)all);
    for (uint32_t i = 0; i < s->n; i++) {
        seen += s->v[i] & count_mask;
        if ((double)seen >= wanted)
            return middle_of(s->v[i] >> COUNT_BITS);
    }
    return -1;
}

void pw_sketch_fini(struct pw_sketch *s)
{
    free(s->v);
    *s = (struct pw_sketch){0};
}

int pw_opwindows_reserve(struct pw_opwindows *windows, size_t nops)
{
    size_t capacity = windows->capacity ? windows->capacity : 64;
    while (capacity < nops)
        capacity *= 2;
    if (capacity == windows->capacity)
        return 0;
    int64_t *sums = realloc(windows->self_ns, capacity * windows->nwindows * sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    memset(sums + windows->capacity * windows->nwindows, 0,
           (capacity - windows->capacity) * windows->nwindows * sizeof(*sums));
    windows->self_ns = sums;
    windows->capacity = capacity;
    return 0;
}

void pw_opwindows_add(struct pw_opwindows *windows, uint64_t mask, int32_t op, int64_t ns)
{
    int64_t *sums = windows->self_ns + (size_t)op * windows->nwindows;
    for (size_t w = 0; w < windows->nwindows; w++)
        if (mask >> w & 1)
            sums[w] = pw_sum(sums[w], ns);
}

int64_t pw_opwindows_self(const struct pw_opwindows *windows, int32_t op, size_t window)
{
    if (op < 0 || (size_t)op >= windows->capacity)
        return 0;
    int64_t ns = windows->self_ns[(size_t)op * windows->nwindows + window];
    return ns > 0 ? ns : 0;
}

void pw_opwindows_fini(struct pw_opwindows *windows)
{
    free(windows->self_ns);
    *windows = (struct pw_opwindows){0};
}

struct text_key {
    const char *text;
    size_t length;
};

static int same_text(const void *items, int32_t item, const void *key)
{
    const struct pw_optexts *t = items;
    const struct text_key *k = key;
    const char *text = t->bytes + t->at[item];
    return strncmp(text, k->text, k->length) == 0 && text[k->length] == '\0';
}

static uint32_t hash_text(const struct text_key *k)
{
    uint64_t hash = k->length, word = 0;
    for (size_t i = 0; i < k->length; i++) {
        word = word << 8 | (unsigned char)k->text[i];
        if (i % 8 == 7)
            hash = pw_hash_mix(hash, word);
    }
    return (uint32_t)pw_hash_mix(hash, word);
}

static int append_text(struct pw_optexts *t, const struct text_key *k)
{
    size_t *at = pw_grow(t->at, t->n, sizeof(*at), &t->capacity);
    if (!at)
        return -ENOMEM;
    t->at = at;
    if (t->room - t->used < k->length + 1) {
        size_t room = 2 * t->room + k->length + 4096;
        char *bytes = realloc(t->bytes, room);
        if (!bytes)
            return -ENOMEM;
        t->bytes = bytes;
        t->room = room;
    }
    memcpy(t->bytes + t->used, k->text, k->length);
    t->bytes[t->used + k->length] = '\0';
    t->at[t->n++] = t->used;
    t->used += k->length + 1;
    return 0;
}

int64_t pw_optree_text(struct pw_optree *tree, const char *text, size_t most)
{
    struct pw_optexts *t = &tree->texts;
    struct text_key key = {text, strnlen(text, most - 1)};
    uint32_t hash = hash_text(&key);
    if (pw_hash_reserve(&t->by_text))
        return -ENOMEM;
    struct pw_hash_slot *slot = pw_hash_find(&t->by_text, hash, same_text, t, &key);
    if (slot->item != PW_HASH_NONE)
        return slot->item;
    if (append_text(t, &key))
        return -ENOMEM;
    pw_hash_take(&t->by_text, slot, hash, (int32_t)t->n - 1);
    return t->n - 1;
}

const char *pw_optree_borrow_text(const struct pw_optree *tree, uint32_t text)
{
    return tree->texts.bytes + tree->texts.at[text];
}

static int same_op(const void *items, int32_t item, const void *key)
{
    const struct pw_opname *a = (const struct pw_opname *)items + item, *b = key;
    return a->name == b->name && a->type == b->type && a->kind == b->kind;
}

int32_t pw_optree_op(struct pw_optree *tree, uint32_t name, uint32_t type, uint32_t kind)
{
    struct pw_opname key = {.name = name, .type = type, .kind = kind, .max_rank = -1};
    uint32_t hash = (uint32_t)pw_hash_mix(pw_hash_mix(name, type), kind);
    if (pw_hash_reserve(&tree->by_op))
        return -ENOMEM;
    struct pw_hash_slot *slot = pw_hash_find(&tree->by_op, hash, same_op, tree->ops, &key);
    if (slot->item != PW_HASH_NONE)
        return slot->item;
    if (tree->nops >= PW_OPTREE_MOST)
        return -ENOSPC;
    void *room = pw_grow(tree->ops, tree->nops, sizeof(key), &tree->ops_capacity);
    if (!room)
        return -ENOMEM;
    tree->ops = room;
    tree->ops[tree->nops] = key;
    pw_hash_take(&tree->by_op, slot, hash, (int32_t)tree->nops);
    return (int32_t)tree->nops++;
}

static int same_path(const void *items, int32_t item, const void *key)
{
    const struct pw_oppath *a = (const struct pw_oppath *)items + item, *b = key;
    return a->parent == b->parent && a->op == b->op;
}

int32_t pw_optree_path(struct pw_optree *tree, int32_t parent, int32_t op)
{
    struct pw_oppath key = {.parent = parent, .op = op, .sum = {.min_ns = INT64_MAX}};
    uint32_t hash = (uint32_t)pw_hash_mix((uint64_t)(uint32_t)parent, (uint64_t)op);
    if (pw_hash_reserve(&tree->by_path))
        return -ENOMEM;
    struct pw_hash_slot *slot = pw_hash_find(&tree->by_path, hash, same_path, tree->paths, &key);
    if (slot->item != PW_HASH_NONE)
        return slot->item;
    if (tree->npaths >= PW_OPTREE_MOST)
        return -ENOSPC;
    void *room = pw_grow(tree->paths, tree->npaths, sizeof(key), &tree->paths_capacity);
    if (!room)
        return -ENOMEM;
    tree->paths = room;
    tree->paths[tree->npaths] = key;
    pw_hash_take(&tree->by_path, slot, hash, (int32_t)tree->npaths);
    return (int32_t)tree->npaths++;
}

static int same_shape(const void *items, int32_t item, const void *key)
{
    const struct pw_opshape *a = (const struct pw_opshape *)items + item, *b = key;
    return a->op == b->op && a->shapes == b->shapes;
}

int32_t pw_optree_shape(struct pw_optree *tree, int32_t op, uint32_t shapes)
{
    struct pw_opshape key = {.op = op, .shapes = shapes, .sum = {.min_ns = INT64_MAX}};
    uint32_t hash = (uint32_t)pw_hash_mix((uint64_t)op, shapes);
    if (pw_hash_reserve(&tree->by_shape))
        return -ENOMEM;
    struct pw_hash_slot *slot = pw_hash_find(&tree->by_shape, hash, same_shape, tree->shapes, &key);
    if (slot->item != PW_HASH_NONE)
        return slot->item;
    if (tree->nshapes >= PW_OPTREE_MOST)
        return -ENOSPC;
    void *room = pw_grow(tree->shapes, tree->nshapes, sizeof(key), &tree->shapes_capacity);
    if (!room)
        return -ENOMEM;
    tree->shapes = room;
    tree->shapes[tree->nshapes] = key;
    pw_hash_take(&tree->by_shape, slot, hash, (int32_t)tree->nshapes);
    return (int32_t)tree->nshapes++;
}

int pw_opname_counts(const struct pw_opname *op)
{
    return op->kind != PW_KIND_FUNCTION;
}

static pw_wide own_of(const struct pw_opcell *cell)
{
    return cell->self_ns - cell->self_wait_ns;
}

static int most_self_first(const void *a, const void *b)
{
    const struct pw_opcell *x = a, *y = b;
    if (x->self_ns != y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* Sums the paths of each operator into one cell. */
static void sum_paths(const struct pw_optree *tree, struct pw_opcell *all)
{
    for (size_t i = 0; i < tree->npaths; i++) {
        const struct pw_opsum *sum = &tree->paths[i].sum;
        struct pw_opcell *cell = &all[tree->paths[i].op];
        cell->calls += sum->calls;
        cell->total_ns += sum->total_ns;
        cell->self_ns += sum->total_ns - sum->inner_ns;
        cell->self_wait_ns += sum->wait_ns - sum->inner_wait_ns;
    }
}

/* Turns sums over all ranks into the sums of this rank, and drops operators that it did not call.
 * Returns how many cells are left. */
static size_t take_rank(struct pw_optree *tree, struct pw_opcell *cells, int32_t rank)
{
    size_t n = 0;
    for (size_t i = 0; i < tree->nops; i++) {
        struct pw_opname *op = &tree->ops[i];
        struct pw_opcell all = cells[i];
        struct pw_opcell cell = {
            .op = (int32_t)i,
            .rank = rank,
            .calls = all.calls - op->calls,
            .total_ns = all.total_ns - op->total_ns,
            .self_ns = all.self_ns - op->self_ns,
            .self_wait_ns = all.self_wait_ns - op->self_wait_ns,
        };
        op->calls = all.calls;
        op->total_ns = all.total_ns;
        op->self_ns = all.self_ns;
        op->self_wait_ns = all.self_wait_ns;
        if (!cell.calls)
            continue;
        op->ranks++;
        if (op->max_rank < 0 || own_of(&cell) > op->max_own_ns) {
            op->max_rank = rank;
            op->max_own_ns = own_of(&cell);
        }
        if (pw_opname_counts(op))
            cells[n++] = cell; /* n <= i: the overwritten cell was used before */
    }
    return n;
}

static int keep_cells(struct pw_optree *tree, const struct pw_opcell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *room = pw_grow(tree->cells, tree->ncells, sizeof(*cells), &tree->cells_capacity);
        if (!room)
            return -ENOMEM;
        tree->cells = room;
        tree->cells[tree->ncells++] = cells[i];
    }
    return 0;
}

int pw_optree_end_rank(struct pw_optree *tree, int32_t rank)
{
    struct pw_opcell *cells = calloc(tree->nops + 1, sizeof(*cells));
    if (!cells)
        return -ENOMEM;
    sum_paths(tree, cells);
    size_t n = take_rank(tree, cells, rank);
    struct pw_opcell all = {.op = -1, .rank = rank};
    for (size_t i = 0; i < n; i++) {
        all.calls += cells[i].calls;
        all.self_ns += cells[i].self_ns;
        all.self_wait_ns += cells[i].self_wait_ns;
    }
    all.total_ns = all.self_ns;
    tree->nranks += n > 0;
    pw_sort(cells, n, sizeof(*cells), most_self_first);
    int err = n ? keep_cells(tree, &all, 1) : 0;
    err = err ? err : keep_cells(tree, cells, n < PW_OPTREE_CELLS ? n : PW_OPTREE_CELLS);
    free(cells);
    return err;
}

int pw_opsum_join(struct pw_opsum *into, const struct pw_opsum *more)
{
    into->calls += more->calls;
    into->total_ns += more->total_ns;
    into->inner_ns += more->inner_ns;
    into->wait_ns += more->wait_ns;
    into->inner_wait_ns += more->inner_wait_ns;
    into->min_ns = more->min_ns < into->min_ns ? more->min_ns : into->min_ns;
    into->max_ns = more->max_ns > into->max_ns ? more->max_ns : into->max_ns;
    if (more->peak_alloc_bytes > into->peak_alloc_bytes)
        into->peak_alloc_bytes = more->peak_alloc_bytes;
    into->alloc_bytes += more->alloc_bytes;
    into->inner_alloc_bytes += more->inner_alloc_bytes;
    return pw_sketch_join(&into->times, more->times.v, more->times.n);
}

void pw_optree_fini(struct pw_optree *tree)
{
    for (size_t i = 0; i < tree->npaths; i++)
        pw_sketch_fini(&tree->paths[i].sum.times);
    for (size_t i = 0; i < tree->nshapes; i++)
        pw_sketch_fini(&tree->shapes[i].sum.times);
    free(tree->texts.bytes);
    free(tree->texts.at);
    free(tree->ops);
    free(tree->paths);
    free(tree->shapes);
    free(tree->cells);
    pw_hash_fini(&tree->texts.by_text);
    pw_hash_fini(&tree->by_op);
    pw_hash_fini(&tree->by_path);
    pw_hash_fini(&tree->by_shape);
    *tree = (struct pw_optree){0};
}
