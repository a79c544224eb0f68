/* Takes and interns call stacks; see stack.h. */
#include "rank/probe/stack.h"

#include <errno.h>
#include <unistd.h>
#include <unwind.h>

#include "rank/probe/findobject.h"
#include "rank/probe/intern.h"

/* Beginning of the probe's image, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

struct walk {
    uintptr_t frames[PW_MAX_STACK]; /* addresses within the calls, innermost first */
    int n, depth;
};

/* Ranges are added and never removed. */
static struct {
    _Atomic uintptr_t begin, end;
} skipped[4];

void pw_stack_skip(uintptr_t begin, uintptr_t end)
{
    for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++) {
        uintptr_t found = 0;
        if (atomic_compare_exchange_strong(&skipped[i].begin, &found, begin))
            atomic_store(&skipped[i].end, end);
        if (found == 0 || found == begin)
            return;
    }
}

static bool is_skipped(uintptr_t ip)
{
    for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
        if (ip >= atomic_load_explicit(&skipped[i].begin, memory_order_relaxed) &&
            ip < atomic_load_explicit(&skipped[i].end, memory_order_relaxed))
            return true;
    return false;
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    uintptr_t ip = _Unwind_GetIP(context);
    if (ip == 0)
        return _URC_END_OF_STACK;
    if (ip >= (uintptr_t)__ehdr_start && ip < (uintptr_t)etext)
        return _URC_NO_REASON;
    if (walk->n == 0 && is_skipped(ip))
        return _URC_NO_REASON;
    walk->frames[walk->n++] = ip - 1; /* ip is the return address, after the call */
    return walk->n < walk->depth ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Returns the id (pw_probe_intern()) of the file that the object was loaded from; 0: not known. The
 * loader has no name for the program itself. */
static uint32_t module_name(struct pw_thread *thread, const struct link_map *map)
{
    char path[256];
    if (!map)
        return 0;
    if (map->l_name && map->l_name[0])
        return pw_probe_intern(thread, map->l_name);
    int saved = errno;
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    errno = saved;
    path[length > 0 ? length : 0] = '\0';
    return pw_probe_intern(thread, path);
}

static bool deliver_stack(struct pw_thread *thread, const struct pw_intern_entry *entry)
{
    const uintptr_t *frames = (const uintptr_t *)(const void *)entry->bytes;
    struct {
        uint32_t module;
        uint64_t offset;
    } at[PW_MAX_STACK];
    uint32_t n = entry->length / (uint32_t)sizeof(*frames);
    for (uint32_t i = 0; i < n; i++) {
        struct dl_find_object object;
        bool known = pw_find_object((const void *)frames[i], &object);
        at[i].module = known ? module_name(thread, object.dlfo_link_map) : 0;
        at[i].offset = frames[i] - (known ? object.dlfo_link_map->l_addr : 0);
    }
    uint64_t now = pw_probe_now();
    uint32_t pieces = (n + PW_STACK_PIECE - 1) / PW_STACK_PIECE;
    if (pw_ring_make_room(&thread->ring, pieces, now, PW_LOST_NAME))
        return false;
    for (uint32_t i = 0; i < n; i += PW_STACK_PIECE) {
        struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_NAME);
        *record = (struct pw_record){
            .type = PW_REC_STACK,
            .start = now,
            .end = now,
            .stack = entry->id,
            .frames = {.total = (uint16_t)n, .first = (uint16_t)i},
        };
        for (uint32_t k = 0; k < PW_STACK_PIECE && i + k < n; k++) {
            record->frames.module[k] = at[i + k].module;
            record->frames.offset[k] = at[i + k].offset;
        }
        pw_probe_commit(thread);
    }
    return true;
}

static struct pw_intern_table stacks = {.deliver = deliver_stack};

uint32_t pw_stack_take(struct pw_thread *thread, int depth)
{
    struct walk walk = {.depth = depth < PW_MAX_STACK ? depth : PW_MAX_STACK};
    if (depth <= 0)
        return 0;
    const unsigned failures = pw_find_object_failures();
    _Unwind_Backtrace(visit, &walk);
    if (pw_find_object_failures() != failures)
        pw_probe_count_cut_stack();
    return walk.n ? pw_intern(&stacks, thread, walk.frames, sizeof(*walk.frames) * (size_t)walk.n)
                  : 0;
}

static _Unwind_Reason_Code visit_caller(struct _Unwind_Context *context, void *data)
{
    const uintptr_t ip = _Unwind_GetIP(context);
    if (ip >= (uintptr_t)__ehdr_start && ip < (uintptr_t)etext)
        return _URC_NO_REASON;
    *(uintptr_t *)data = ip;
    return _URC_END_OF_STACK;
}

const void *pw_stack_caller(void)
{
    uintptr_t caller = 0;
    _Unwind_Backtrace(visit_caller, &caller);
    return (const void *)caller;
}
