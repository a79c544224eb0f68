/* Nests the ranges of each thread in one pass over them in the order of their starts; see
 * nest.h. */
#include "import/trace/nest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/trace/gloo.h"

/* The most ranges that are open at a time. */
enum { DEEPEST = 4096 };

struct open_range {
    struct pw_host_record record;
    int64_t allocated;
};

struct nesting {
    struct pw_trace_window *window;
    struct pw_nested *out;
    int64_t thread;
    size_t depth;
    int by_external; /* 1: the trace has no runtime calls, so activities are joined by External id
                      */
    int begins;      /* 1: the thread has begun operations of Gloo */
    int64_t busy_until; /* end of the thread's last operator so far */
    struct open_range stack[DEEPEST];
};

static int64_t end_of(const struct pw_host_record *r)
{
    return -r->minus_end;
}

static void close_last(struct nesting *n)
{
    struct open_range *range = &n->stack[--n->depth];
    const struct pw_host_record *r = &range->record;
    struct pw_keyed_range out;
    memset(&out, 0, sizeof(out));
    out.key[0] = end_of(r);
    out.key[1] = -r->start;
    out.row = (struct pw_row_range){
        .start = r->start,
        .end = end_of(r),
        .name = r->name,
        .category = r->category,
        .kind = r->kind,
        .thread = (uint16_t)r->thread,
        .depth = (uint16_t)n->depth,
        .shapes = r->shapes,
        .alloc_bytes = range->allocated,
        .sequence = r->sequence,
    };
    pw_sorter_add(n->out->ranges, &out);
    if (n->depth)
        n->stack[n->depth - 1].allocated += range->allocated;
}

static void close_before(struct nesting *n, int64_t time)
{
    while (n->depth && end_of(&n->stack[n->depth - 1].record) <= time)
        close_last(n);
}

/* Returns the range to name as launcher of an activity: the innermost open operator or range of the
 * program, else the innermost open range, else NULL. */
static const struct pw_host_record *find_launcher(const struct nesting *n)
{
    for (size_t i = n->depth; i-- > 0;)
        if (n->stack[i].record.kind == PW_KIND_OPERATOR || n->stack[i].record.kind == PW_KIND_USER)
            return &n->stack[i].record;
    return n->depth ? &n->stack[n->depth - 1].record : NULL;
}

/* Returns the innermost open range that describes a collective, and prefers ranges that have the
 * collective's size; NULL: none. */
static const struct pw_host_record *find_collective(const struct nesting *n)
{
    const struct pw_host_record *found = NULL;
    for (size_t i = n->depth; i-- > 0;) {
        const struct pw_host_record *r = &n->stack[i].record;
        if (r->role != PW_ROLE_BEGINS && r->collective &&
            (!found || (found->count_in < 0 && r->count_in >= 0)))
            found = r;
    }
    return found;
}

static void add_launch(struct nesting *n, uint64_t id, int64_t time, int32_t thread, int timed)
{
    const struct pw_host_record *by = find_launcher(n), *collective = find_collective(n);
    struct pw_launch_record out = {
        .id = (int64_t)id,
        .time = time,
        .count_in = collective ? collective->count_in : -1,
        .count_out = collective ? collective->count_out : -1,
        .thread = thread,
        .launched_by = by ? by->name : 0,
        .collective = collective ? collective->collective : 0,
        .timed = (uint32_t)timed,
    };
    pw_sorter_add(n->out->launches, &out);
}

static void take_wait(struct nesting *n, const struct pw_host_record *r)
{
    struct pw_keyed_cuda_sync out;
    memset(&out, 0, sizeof(out));
    out.key[0] = r->start;
    out.key[1] = end_of(r);
    out.row = (struct pw_row_cuda_sync){
        .start = r->start,
        .end = end_of(r),
        .kind = r->sync,
        .device = -1,
        .stream = -1,
        .event = -1,
        .correlation = r->id,
    };
    pw_sorter_add(n->out->syncs, &out);
}

static void take_call(struct nesting *n, const struct pw_host_record *r)
{
    if (r->id)
        add_launch(n, r->id, r->start, (int32_t)r->thread, 1);
    if (r->sync && !pw_sorter_count(n->window->syncs))
        take_wait(n, r);
    if (!n->window->trace->keep_cuda_calls)
        return;
    struct pw_keyed_cuda_api out;
    memset(&out, 0, sizeof(out));
    out.key[0] = end_of(r);
    out.key[1] = -r->start;
    out.row = (struct pw_row_cuda_api){
        .start = r->start,
        .end = end_of(r),
        .name = r->name,
        .thread = (int32_t)r->thread,
        .correlation = r->id,
    };
    pw_sorter_add(n->out->calls, &out);
}

static void take_memory(struct nesting *n, const struct pw_host_record *r)
{
    struct pw_keyed_memory out;
    memset(&out, 0, sizeof(out));
    out.key[0] = r->start;
    out.row = (struct pw_row_memory){
        .time = r->start,
        .device = r->device,
        .thread = (uint16_t)r->thread,
        .delta_bytes = r->sequence,
        .total_bytes = r->count_in,
    };
    pw_sorter_add(n->out->memory, &out);
    if (n->depth)
        n->stack[n->depth - 1].allocated += r->sequence;
}

static void add_gloo(struct nesting *n, enum pw_gloo_type type, const struct pw_host_record *r)
{
    const struct pw_gloo_record out = {
        .start = r->start,
        .type = type,
        .end = end_of(r),
        .count_in = r->count_in,
        .count_out = r->count_out,
        .thread = r->thread,
        .collective = r->collective,
    };
    pw_sorter_add(n->out->gloo, &out);
}

/* Adds a pause for Gloo: from the end of the thread's last operator until `time`. */
static void add_pause(struct nesting *n, int64_t time)
{
    const struct pw_host_record pause = {
        .thread = n->thread, .start = n->busy_until, .minus_end = -time};
    if (n->begins && time > n->busy_until)
        add_gloo(n, PW_GLOO_PAUSE, &pause);
}

static void follow_gloo(struct nesting *n, const struct pw_host_record *r)
{
    static const enum pw_gloo_type types[] = {
        [PW_ROLE_BEGINS] = PW_GLOO_BEGIN,
        [PW_ROLE_TELLS] = PW_GLOO_TELL,
        [PW_ROLE_WORKS] = PW_GLOO_WORK,
        [PW_ROLE_WAITS] = PW_GLOO_PAUSE,
    };
    if ((r->kind == PW_KIND_OPERATOR || r->kind == PW_KIND_DATA) && r->role != PW_ROLE_WAITS &&
        r->role != PW_ROLE_WORKS) {
        add_pause(n, r->start);
        n->busy_until = end_of(r) > n->busy_until ? end_of(r) : n->busy_until;
    }
    if (r->role == PW_ROLE_NONE)
        return;
    n->begins |= r->role != PW_ROLE_WORKS;
    add_gloo(n, types[r->role], r);
}

static void take_range(struct nesting *n, const struct pw_host_record *r)
{
    follow_gloo(n, r);
    if (n->depth == DEEPEST)
        close_last(n);
    n->stack[n->depth++] = (struct open_range){.record = *r};
    if (n->by_external && r->id)
        add_launch(n, r->id, r->start, (int32_t)r->thread, 0);
}

static void take(struct nesting *n, const struct pw_host_record *r)
{
    if (r->thread != n->thread) {
        while (n->depth)
            close_last(n);
        add_pause(n, INT64_MAX);
        n->thread = r->thread;
        n->begins = 0;
        n->busy_until = INT64_MIN;
    }
    close_before(n, r->start);
    if (r->type == PW_HOST_CALL)
        take_call(n, r);
    else if (r->type == PW_HOST_MEMORY)
        take_memory(n, r);
    else
        take_range(n, r);
}

static int create(struct pw_trace *trace, struct pw_nested *out)
{
    const char *dir = trace->dir;
    int err =
        pw_sorter_create(dir, sizeof(struct pw_keyed_range), 2 * PW_ROWS_MEMORY, &out->ranges);
    err =
        err ? err
            : pw_sorter_create(dir, sizeof(struct pw_keyed_cuda_api), PW_ROWS_MEMORY, &out->calls);
    err = err ? err
              : pw_sorter_create(dir, sizeof(struct pw_keyed_cuda_sync), PW_ROWS_MEMORY_SMALL,
                                 &out->syncs);
    err = err ? err
              : pw_sorter_create(dir, sizeof(struct pw_keyed_memory), PW_ROWS_MEMORY_SMALL,
                                 &out->memory);
    err = err ? err
              : pw_sorter_create(dir, sizeof(struct pw_launch_record), PW_ROWS_MEMORY,
                                 &out->launches);
    return err ? err
               : pw_sorter_create(dir, sizeof(struct pw_gloo_record), PW_ROWS_MEMORY_SMALL,
                                  &out->gloo);
}

void pw_nested_fini(struct pw_nested *nested)
{
    pw_sorter_destroy(nested->ranges);
    pw_sorter_destroy(nested->calls);
    pw_sorter_destroy(nested->syncs);
    pw_sorter_destroy(nested->memory);
    pw_sorter_destroy(nested->launches);
    pw_sorter_destroy(nested->gloo);
    *nested = (struct pw_nested){0};
}

int pw_nest(struct pw_trace_window *window, struct pw_nested *out)
{
    *out = (struct pw_nested){0};
    struct nesting *n = malloc(sizeof(*n));
    int err = n ? create(window->trace, out) : -ENOMEM;
    err = err ? err : pw_sorter_begin(window->host);
    if (err) {
        free(n);
        return err;
    }
    n->window = window;
    n->out = out;
    n->thread = -1;
    n->depth = 0;
    n->by_external = window->calls == 0;
    n->begins = 0;
    n->busy_until = INT64_MIN;
    for (const struct pw_host_record *r; (r = pw_sorter_next(window->host));) {
        if (r->start == 0 && window->drops_zero) {
            pw_trace_omit(window->trace, PW_OMIT_NO_TIME);
            window->trace->counts.taken--;
            continue;
        }
        take(n, r);
    }
    while (n->depth)
        close_last(n);
    add_pause(n, INT64_MAX);
    free(n);
    return pw_sorter_error(window->host);
}
