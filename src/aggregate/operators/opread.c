/* One pass over /events/range, from its end to its begin; see opread.h.
 *
 * A range is recorded when it ends. Read backwards, it comes before all ranges inside it: so the
 * open ranges of a thread are a stack, and the path of a range is known at once. The depths in the
 * file are used only for ranges of zero length that start at the same time. */
#include "aggregate/operators/opread.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5table.h"
#include "core/limits.h"
#include "core/tables.h"

/* Reads the memory samples of one rank backwards, thread by thread, as the pass over its ranges
 * (opread.c) needs them for the operators' memory peaks. Memory is limited: a few blocks of the
 * table are kept; a block is read again when threads are far apart in the table. No MPI. */

struct pw_opmemory;

enum { BLOCK = 4096, AT_HAND = 16, THREADS = 1 << 16, MOST_PLACES = 1 << 22, NONE = -1 };

/* An entry in a thread's list: a block with samples of the thread, and the entry of the block
 * before. */
struct place {
    int32_t block, before;
};

struct cursor {
    int32_t place; /* entry of the current block; NONE: all samples were taken */
    int32_t rows;  /* rows of that block that are not examined yet */
};

struct held {
    int64_t block; /* NONE: no block */
    size_t n;
    struct pw_row_memory rows[BLOCK];
};

struct pw_opmemory {
    struct pw_h5_table *table;
    uint64_t rows;
    struct place *places;
    int32_t nplaces;
    size_t capacity;
    struct cursor cursors[THREADS];
    struct held held[AT_HAND];
};

/* Returns the block, which it reads if needed; NULL with *err set. */
static const struct held *hold(struct pw_opmemory *m, int64_t block, int *err)
{
    struct held *h = &m->held[block % AT_HAND];
    uint64_t at = (uint64_t)block * BLOCK;
    if (h->block == block)
        return h;
    h->n = m->rows - at < BLOCK ? (size_t)(m->rows - at) : BLOCK;
    *err = pw_h5_table_read(m->table, at, h->n, h->rows);
    h->block = *err ? NONE : block;
    return *err ? NULL : h;
}

static int add_place(struct pw_opmemory *m, uint16_t thread, int32_t block)
{
    struct cursor *c = &m->cursors[thread];
    if (c->place != NONE && m->places[c->place].block == block)
        return 0;
    if (m->nplaces == MOST_PLACES)
        return -ENOSPC;
    struct place *places = pw_grow(m->places, (size_t)m->nplaces, sizeof(*places), &m->capacity);
    if (!places)
        return -ENOMEM;
    m->places = places;
    m->places[m->nplaces] = (struct place){block, c->place};
    c->place = m->nplaces++;
    return 0;
}

static int find_places(struct pw_opmemory *m)
{
    int64_t blocks = (int64_t)((m->rows + BLOCK - 1) / BLOCK);
    int err = blocks > INT32_MAX ? -ENOSPC : 0;
    for (int64_t b = 0; b < blocks && !err; b++) {
        const struct held *h = hold(m, b, &err);
        for (size_t i = 0; h && i < h->n && !err; i++)
            err = add_place(m, h->rows[i].thread, (int32_t)b);
    }
    return err;
}

static void opmemory_close(struct pw_opmemory *m)
{
    if (!m)
        return;
    pw_h5_table_close(m->table);
    free(m->places);
    free(m);
}

/* Opens the samples of a rank, which must outlive *out. *out is NULL when there
 * are no samples. Returns 0, -ENOMEM, -EIO, or -ENOSPC when samples of many threads alternate too
 * often. */
static int opmemory_open(const struct pw_input *input, struct pw_opmemory **out)
{
    const struct pw_h5_place *place = &input->memory_rows;
    *out = NULL;
    if (!place->rows)
        return 0;
    struct pw_opmemory *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    m->rows = place->rows;
    for (size_t i = 0; i < THREADS; i++)
        m->cursors[i] = (struct cursor){NONE, BLOCK};
    for (size_t i = 0; i < AT_HAND; i++)
        m->held[i].block = NONE;
    int err = pw_input_table(input, place, &m->table);
    err = err ? err : find_places(m);
    if (err) {
        opmemory_close(m);
        return err;
    }
    *out = m;
    return 0;
}

/* Takes the thread's latest sample that was not taken yet, if its time is after `after`. Returns 1;
 * 0 when there is none; or -errno. `memory` may be NULL. */
static int opmemory_take(struct pw_opmemory *m, uint16_t thread, int64_t after, int64_t *time,
                         int64_t *delta_bytes)
{
    struct cursor *c = m ? &m->cursors[thread] : NULL;
    int err = 0;
    while (c && c->place != NONE) {
        const struct held *h = hold(m, m->places[c->place].block, &err);
        if (!h)
            return err;
        int32_t row = (c->rows < (int32_t)h->n ? c->rows : (int32_t)h->n) - 1;
        for (; row >= 0; row--) {
            const struct pw_row_memory *sample = &h->rows[row];
            if (sample->thread != thread || !pw_is_possible(sample->time) ||
                !pw_is_possible(sample->delta_bytes))
                continue;
            c->rows = row + (sample->time <= after);
            if (sample->time <= after)
                return 0;
            *time = sample->time;
            *delta_bytes = sample->delta_bytes;
            return 1;
        }
        *c = (struct cursor){m->places[c->place].before, BLOCK};
    }
    return 0;
}

enum { RANGES_BLOCK = 1024, DEEPEST = 1 << 16, NOBODY = -1 };

/* A range that may enclose ranges that are read later. */
struct open {
    int64_t start, end;
    /* Sums of the samples inside the range so far, read backwards. peak_bytes: the largest sum from
     * any time to the end of the range; net_bytes: the sum of all. */
    int64_t peak_bytes, net_bytes, alloc_bytes;
    int32_t path, shape; /* NOBODY: there were too many */
    int32_t owner; /* the nearest range of the stack, including this one, whose inner time counts */
    uint16_t depth;
    uint64_t windows; /* windows of steps that it started in, as bits */
};

struct stack {
    struct open *v;
    int32_t n;
    size_t capacity;
};

/* A kind of range, identified by the numbers in the file, and its path and shape in the tree. */
struct known {
    int32_t parent;
    uint32_t name, domain, category, shapes, kind;
    int32_t path, shape;
    uint32_t next; /* the kind that was read after it last time; steps repeat */
};

struct pass {
    struct pw_optree *tree;
    const struct pw_input *input;
    struct pw_h5_table *ranges;  /* the caller's */
    const struct pw_spans *wait; /* NULL: waits are not summed up */
    struct stack **threads;      /* by thread; NULL: no range of the thread was read yet */
    size_t nthreads;             /* length of `threads`: more than any thread's number so far */
    struct known *known;
    size_t nknown, known_capacity;
    size_t last; /* the kind read last */
    struct pw_hash by_known;
    struct pw_texts texts;
    struct pw_waited waited;
    struct pw_opmemory *memory;   /* NULL: there are no memory samples */
    int warms_up;                 /* 1: some steps are warm-up, and do not count */
    struct pw_opwindows *windows; /* NULL: the whole run is summed up, in the tree */
    ptrdiff_t near;               /* the step looked up last */
};

static const char *text_of(const struct pass *p, uint32_t row)
{
    return row < p->texts.n ? p->texts.v[row] : "";
}

/* The type of an operator: its category, else its domain, else its kind. */
static const char *type_of(const struct pass *p, const struct pw_row_range *range)
{
    const char *type = text_of(p, range->category);
    if (!*type)
        type = text_of(p, range->domain);
    return *type ? type : pw_enum_name(PW_F_KIND, range->kind);
}

/* Finds the path and the shape by their texts; NOBODY when there are too many. Returns 0 or
 * -ENOMEM. */
static int look_up(struct pass *p, const struct pw_row_range *range, struct known *k)
{
    struct pw_optree *tree = p->tree;
    const char *shapes = text_of(p, range->shapes);
    int64_t name = pw_optree_text(tree, text_of(p, range->name), PW_OPTREE_NAME);
    int64_t type = pw_optree_text(tree, type_of(p, range), PW_OPTREE_TYPE);
    int64_t shape = *shapes ? pw_optree_text(tree, shapes, PW_OPTREE_NAME) : 0;
    if (name < 0 || type < 0 || shape < 0)
        return -ENOMEM;
    int32_t op = pw_optree_op(tree, (uint32_t)name, (uint32_t)type, range->kind);
    k->path = op < 0 ? op : pw_optree_path(tree, k->parent, op);
    k->shape = op < 0 || !*shapes ? NOBODY : pw_optree_shape(tree, op, (uint32_t)shape);
    if (k->path == -ENOMEM || k->shape == -ENOMEM)
        return -ENOMEM;
    k->path = k->path < 0 ? NOBODY : k->path;
    k->shape = k->shape < 0 ? NOBODY : k->shape;
    return 0;
}

static int same_known(const void *items, int32_t item, const void *key)
{
    const struct known *a = (const struct known *)items + item, *b = key;
    return a->parent == b->parent && a->name == b->name && a->shapes == b->shapes &&
           a->category == b->category && a->domain == b->domain && a->kind == b->kind;
}

/* Notes that the kind was read now. Returns it. */
static const struct known *go_on(struct pass *p, size_t kind)
{
    p->known[p->last].next = (uint32_t)kind;
    p->last = kind;
    return &p->known[kind];
}

static int append_known(struct pass *p, const struct known *k)
{
    struct known *known = pw_grow(p->known, p->nknown, sizeof(*known), &p->known_capacity);
    if (!known)
        return -ENOMEM;
    p->known = known;
    p->known[p->nknown++] = *k;
    return 0;
}

/* Returns the kind of a range; texts are compared once for each combination. The list is cleared
 * when there are too many. NULL when memory is short. */
static const struct known *find_known(struct pass *p, const struct pw_row_range *range,
                                      int32_t parent)
{
    struct known key = {parent,          range->name,   range->domain,
                        range->category, range->shapes, range->kind,
                        NOBODY,          NOBODY,        0};
    if (p->nknown && same_known(p->known, (int32_t)p->known[p->last].next, &key))
        return go_on(p, p->known[p->last].next);
    uint64_t words[2] = {(uint64_t)(uint32_t)parent << 32 | range->name,
                         (uint64_t)range->shapes << 32 | range->category};
    uint32_t hash = (uint32_t)pw_hash_mix(pw_hash_mix(words[0], words[1]),
                                          (uint64_t)range->domain << 8 | range->kind);
    if (p->nknown >= PW_OPTREE_MOST) {
        p->nknown = p->last = 0;
        pw_hash_fini(&p->by_known);
    }
    if (pw_hash_reserve(&p->by_known))
        return NULL;
    struct pw_hash_slot *slot = pw_hash_find(&p->by_known, hash, same_known, p->known, &key);
    if (slot->item != PW_HASH_NONE)
        return go_on(p, (size_t)slot->item);
    if (look_up(p, range, &key) || append_known(p, &key))
        return NULL;
    pw_hash_take(&p->by_known, slot, hash, (int32_t)p->nknown - 1);
    return go_on(p, p->nknown - 1);
}

static void raise_peak(struct pw_opsum *sum, int64_t bytes)
{
    if (bytes > sum->peak_alloc_bytes)
        sum->peak_alloc_bytes = bytes;
}

/* Removes the top range, at its begin. Its peak is at least the memory left at its end: for
 * operators from another profiler, only that is known. */
static void leave_top(struct pass *p, struct stack *s)
{
    const struct open *top = &s->v[--s->n];
    int64_t peak = top->peak_bytes > top->alloc_bytes ? top->peak_bytes : top->alloc_bytes;
    if (top->path != NOBODY)
        raise_peak(&p->tree->paths[top->path].sum, peak);
    if (top->shape != NOBODY)
        raise_peak(&p->tree->shapes[top->shape].sum, peak);
    if (!s->n)
        return;
    struct open *around = &s->v[s->n - 1];
    int64_t later = pw_sum(around->peak_bytes, top->net_bytes);
    around->peak_bytes = later > top->peak_bytes ? later : top->peak_bytes;
    around->net_bytes = pw_sum(around->net_bytes, top->net_bytes);
}

/* Adds the thread's samples after this time to the ranges that contain them. Returns 0 or
 * -errno. */
static int take_samples(struct pass *p, uint16_t thread, struct stack *s, int64_t after)
{
    int64_t time = 0, bytes = 0;
    int got;
    while ((got = opmemory_take(p->memory, thread, after, &time, &bytes)) > 0) {
        while (s->n && s->v[s->n - 1].start > time)
            leave_top(p, s);
        if (!s->n)
            continue;
        struct open *top = &s->v[s->n - 1];
        int64_t sum = pw_sum(top->peak_bytes, bytes);
        top->peak_bytes = sum > 0 ? sum : 0;
        top->net_bytes = pw_sum(top->net_bytes, bytes);
    }
    return got;
}

/* Removes the ranges of the stack that do not enclose this one. */
static void leave(struct pass *p, struct stack *s, const struct pw_row_range *range)
{
    while (s->n) {
        const struct open *top = &s->v[s->n - 1];
        int beside =
            top->start == range->end && top->end == range->start && top->depth >= range->depth;
        if (top->start <= range->start && top->end >= range->end && !beside)
            return;
        leave_top(p, s);
    }
}

/* Removes all ranges of all threads, at the end of the pass. Returns 0 or -errno. */
static int leave_all(struct pass *p)
{
    int err = 0;
    for (size_t thread = 0; thread < p->nthreads && !err; thread++) {
        struct stack *s = p->threads[thread];
        if (!s)
            continue;
        err = take_samples(p, (uint16_t)thread, s, INT64_MIN);
        while (s->n)
            leave_top(p, s);
    }
    return err;
}

static int enter(struct stack *s, const struct pw_row_range *range, const struct known *k,
                 uint64_t windows)
{
    if (s->n == DEEPEST)
        return 0; /* ranges inside count as inside the range around it */
    struct open *v = pw_grow(s->v, (size_t)s->n, sizeof(*v), &s->capacity);
    if (!v)
        return -ENOMEM;
    const int32_t around = s->n ? v[s->n - 1].owner : NOBODY;
    s->v = v;
    s->v[s->n] = (struct open){
        .start = range->start,
        .end = range->end,
        .alloc_bytes = range->alloc_bytes,
        .path = k->path,
        .shape = k->shape,
        .owner = range->kind == PW_KIND_FUNCTION ? around : s->n,
        .depth = range->depth,
        .windows = windows,
    };
    s->n++;
    return 0;
}

static int add(struct pw_opsum *sum, int64_t ns, int64_t waited, int64_t alloc_bytes)
{
    sum->calls++;
    sum->total_ns += ns;
    sum->wait_ns += waited;
    sum->min_ns = ns < sum->min_ns ? ns : sum->min_ns;
    sum->max_ns = ns > sum->max_ns ? ns : sum->max_ns;
    sum->alloc_bytes += alloc_bytes;
    return pw_sketch_add(&sum->times, ns, 1);
}

static void add_inner(struct pw_opsum *sum, int64_t ns, int64_t waited, int64_t alloc_bytes)
{
    sum->inner_ns += ns;
    sum->inner_wait_ns += waited;
    sum->inner_alloc_bytes += alloc_bytes;
}

static int count(struct pass *p, const struct pw_row_range *range, const struct known *k,
                 const struct open *owner)
{
    struct pw_optree *tree = p->tree;
    int64_t ns = range->end - range->start;
    int64_t waited = pw_waited_within(&p->waited, range->start, range->end);
    int err = 0;
    tree->unlisted += k->path == NOBODY;
    if (k->path != NOBODY)
        err = add(&tree->paths[k->path].sum, ns, waited, range->alloc_bytes);
    if (k->shape != NOBODY && !err)
        err = add(&tree->shapes[k->shape].sum, ns, waited, range->alloc_bytes);
    if (owner && owner->path != NOBODY)
        add_inner(&tree->paths[owner->path].sum, ns, waited, range->alloc_bytes);
    if (owner && owner->shape != NOBODY)
        add_inner(&tree->shapes[owner->shape].sum, ns, waited, range->alloc_bytes);
    return err;
}

static uint64_t windows_of(struct pass *p, const struct pw_row_range *range)
{
    ptrdiff_t step = p->windows ? pw_input_step_near(p->input, range->start, &p->near) : -1;
    return step < 0 ? 0 : p->windows->steps[step];
}

static int count_in_windows(struct pass *p, const struct pw_row_range *range, const struct known *k,
                            uint64_t mask, const struct open *owner)
{
    const struct pw_oppath *paths = p->tree->paths;
    int64_t ns = range->end - range->start;
    int err = pw_opwindows_reserve(p->windows, p->tree->nops);
    if (!err && k->path != NOBODY)
        pw_opwindows_add(p->windows, mask, paths[k->path].op, ns);
    if (!err && owner && owner->path != NOBODY)
        pw_opwindows_add(p->windows, owner->windows, paths[owner->path].op, -ns);
    return err;
}

static struct stack *stack_of(struct pass *p, uint16_t thread)
{
    enum { AT_ONCE = 64 };
    if (thread >= p->nthreads) {
        const size_t n = thread / AT_ONCE * AT_ONCE + AT_ONCE;
        struct stack **threads = realloc(p->threads, n * sizeof(*threads));
        if (!threads)
            return NULL;
        memset(threads + p->nthreads, 0, (n - p->nthreads) * sizeof(*threads));
        p->threads = threads;
        p->nthreads = n;
    }
    if (!p->threads[thread])
        p->threads[thread] = calloc(1, sizeof(struct stack));
    return p->threads[thread];
}

static int visit(struct pass *p, const struct pw_row_range *range)
{
    struct stack *s = stack_of(p, range->thread);
    if (!s)
        return -ENOMEM;
    int err = take_samples(p, range->thread, s, range->end);
    if (err)
        return err;
    leave(p, s, range);
    const struct open *top = s->n ? &s->v[s->n - 1] : NULL;
    const struct known *k = find_known(p, range, top ? top->path : NOBODY);
    if (!k)
        return -ENOMEM;
    const int is_inner = range->kind != PW_KIND_FUNCTION && top && top->owner != NOBODY;
    const struct open *owner = is_inner ? &s->v[top->owner] : NULL;
    const uint64_t windows = windows_of(p, range);
    err = p->windows ? count_in_windows(p, range, k, windows, owner) : count(p, range, k, owner);
    return err ? err : enter(s, range, k, windows);
}

/* 1 when the range counts: it is no mark or step, belongs to a thread, and is not in a warm-up
 * step. */
static int is_counted(const struct pass *p, const struct pw_row_range *range)
{
    if (range->kind != PW_KIND_USER && range->kind != PW_KIND_PHASE &&
        range->kind != PW_KIND_OPERATOR && range->kind != PW_KIND_DATA &&
        range->kind != PW_KIND_FUNCTION)
        return 0;
    if (range->flags & PW_RANGE_PROCESS)
        return 0;
    if (range->end < range->start || !pw_is_possible(range->start) || !pw_is_possible(range->end) ||
        !pw_is_possible(range->alloc_bytes))
        return 0;
    ptrdiff_t step = p->warms_up ? pw_input_step_at(p->input, range->start) : -1;
    return step < 0 || p->input->steps[step].recorded == PW_RECORDED_ACTIVE;
}

static int read_backwards(struct pass *p)
{
    const struct pw_h5_place *place = &p->input->range_rows;
    struct pw_row_range *ranges = malloc(sizeof(*ranges) * RANGES_BLOCK);
    int err = ranges ? 0 : -ENOMEM;
    uint64_t blocks = (place->rows + RANGES_BLOCK - 1) / RANGES_BLOCK;
    for (uint64_t b = blocks; !err && b-- > 0;) {
        uint64_t at = b * RANGES_BLOCK;
        size_t n = place->rows - at < RANGES_BLOCK ? (size_t)(place->rows - at) : RANGES_BLOCK;
        err = pw_h5_table_read(p->ranges, at, n, ranges);
        if (!p->windows)
            pw_progress_add(p->input->progress, (int64_t)n);
        for (size_t i = n; !err && i-- > 0;)
            if (is_counted(p, &ranges[i]))
                err = visit(p, &ranges[i]);
    }
    free(ranges);
    return err;
}

static void fini(struct pass *p)
{
    for (size_t i = 0; i < p->nthreads; i++)
        if (p->threads[i]) {
            free(p->threads[i]->v);
            free(p->threads[i]);
        }
    free(p->threads);
    free(p->known);
    pw_hash_fini(&p->by_known);
    pw_waited_fini(&p->waited);
    opmemory_close(p->memory);
}

/* Opens the memory samples. When there are too many threads, there are no peaks. Returns 0 or
 * -errno. */
static int open_memory(struct pass *p)
{
    int err = opmemory_open(p->input, &p->memory);
    p->tree->unpeaked += err == -ENOSPC;
    return err == -ENOSPC ? 0 : err;
}

static int read_rank(struct pass *p)
{
    const struct pw_input *input = p->input;
    const struct pw_spans none = {0};
    for (size_t i = 0; i < input->nsteps; i++)
        p->warms_up |= input->steps[i].recorded != PW_RECORDED_ACTIVE;
    int err = pw_waited_init(&p->waited, p->wait ? p->wait : &none);
    err = err || p->windows ? err : open_memory(p);
    err = err ? err : read_backwards(p);
    err = err ? err : leave_all(p);
    fini(p);
    return err;
}

int pw_opread_rank(struct pw_optree *tree, const struct pw_opread_from *from)
{
    const struct pw_input *input = from->input;
    struct pass p = {.tree = tree,
                     .input = input,
                     .ranges = from->ranges,
                     .texts = *from->texts,
                     .wait = from->wait};
    if (!input->range_rows.rows)
        return 0;
    int err = read_rank(&p);
    int ended = err == -ENOMEM ? err : pw_optree_end_rank(tree, (int32_t)input->rank);
    return ended ? ended : err;
}

int pw_opread_windows(struct pw_optree *tree, const struct pw_input *input,
                      struct pw_opwindows *windows)
{
    struct pass p = {.tree = tree, .input = input, .windows = windows};
    if (!input->range_rows.rows)
        return 0;
    int err = pw_input_texts(input, &p.texts);
    char **texts = p.texts.v;
    err = err ? err : pw_input_table(input, &input->range_rows, &p.ranges);
    err = err ? err : read_rank(&p);
    pw_h5_table_close(p.ranges);
    free(texts);
    return err;
}
