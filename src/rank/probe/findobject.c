/* The object that is mapped at an address; see findobject.h.
 *
 * From glibc 2.35 on, the C library's function is called; it takes no lock. Before, a table of the
 * objects is searched. All of it happens in a callback of dl_iterate_phdr(), that is, under the
 * lock that the loader holds only while it changes its list, and under which no code of the program
 * runs (scope.h). The lock is recursive. So a signal handler can interrupt only its own thread
 * here, and then it searches the loader's list, not the table. */
#include "rank/probe/findobject.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rank/probe/elfobject.h"

/* The copy that is in the probe; nobody else may find it. */
#pragma GCC visibility push(hidden)

typedef int find_object(void *address, struct dl_find_object *result);

static _Atomic(find_object *) loaders;

struct object {
    uintptr_t start, end;
    struct link_map *map;
    void *eh_frame;
};

/* Sorted by address. */
static struct {
    volatile atomic_bool is_busy; /* by a callback of this thread */
    struct object *objects;
    size_t n, most;
    unsigned long long adds, subs; /* of the loader's list when the table was made */
} table;

struct walk {
    struct link_map *next; /* the loader's entry of the next object */
    uintptr_t address;     /* what to find, unless the table is made */
    struct object found;
};

/* Called for the objects in turn; the loader's entries are in the same order. */
static struct object describe(const struct dl_phdr_info *info, struct walk *walk)
{
    const ElfW(Dyn) *dynamic = pw_elf_dynamic(info);
    struct object object = {.start = UINTPTR_MAX};
    struct link_map *map = walk->next;
    while (map && (map->l_ld != dynamic || map->l_addr != info->dlpi_addr))
        map = map->l_next;
    if (!map)
        return (struct object){0};
    walk->next = map->l_next;
    object.map = map;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD) {
            object.start = begin < object.start ? begin : object.start;
            object.end =
                begin + segment->p_memsz > object.end ? begin + segment->p_memsz : object.end;
        } else if (segment->p_type == PT_GNU_EH_FRAME) {
            object.eh_frame = (void *)begin;
        }
    }
    object.start &= ~(uintptr_t)4095;
    return object;
}

/* ---- the table ---- */

static int count(struct dl_phdr_info *info, size_t size, void *n)
{
    (void)info, (void)size;
    ++*(size_t *)n;
    return 0;
}

static bool make_room(size_t n)
{
    size_t most = table.most ? table.most : 128;
    while (most < n)
        most *= 2;
    if (most == table.most)
        return true;
    struct object *objects = mmap(NULL, most * sizeof(*objects), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (objects == MAP_FAILED)
        return false;
    if (table.objects)
        munmap(table.objects, table.most * sizeof(*objects));
    table.objects = objects;
    table.most = most;
    return true;
}

static int insert(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct object object = describe(info, arg);
    size_t at = table.n;
    (void)size;
    if (!object.map || table.n == table.most)
        return 0;
    for (; at > 0 && table.objects[at - 1].start > object.start; at--)
        table.objects[at] = table.objects[at - 1];
    table.objects[at] = object;
    table.n++;
    return 0;
}

static void make_table(const struct dl_phdr_info *info)
{
    struct walk walk = {.next = _r_debug.r_map};
    size_t n = 0;
    dl_iterate_phdr(count, &n);
    table.n = 0;
    if (!make_room(n))
        return;
    dl_iterate_phdr(insert, &walk);
    table.adds = info->dlpi_adds;
    table.subs = info->dlpi_subs;
}

static void search_table(struct walk *walk)
{
    size_t low = 0, high = table.n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (table.objects[middle].end <= walk->address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < table.n && walk->address >= table.objects[low].start)
        walk->found = table.objects[low];
}

/* ---- the search ---- */

static int compare(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct walk *walk = arg;
    const struct object object = describe(info, walk);
    (void)size;
    if (!object.map || walk->address < object.start || walk->address >= object.end)
        return 0;
    walk->found = object;
    return 1;
}

/* Called for the first object, with the list locked. While the loader removes objects, the entries
 * of its list may be of objects that are no longer mapped. A signal handler can come there in the
 * thread that removes them, so the table stays as it is. */
static int search_locked(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct walk *walk = arg;
    (void)size;
    if (atomic_load_explicit(&table.is_busy, memory_order_relaxed)) {
        walk->next = _r_debug.r_map;
        dl_iterate_phdr(compare, walk);
        return 1;
    }
    atomic_store_explicit(&table.is_busy, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if ((table.adds != info->dlpi_adds || table.subs != info->dlpi_subs) &&
        _r_debug.r_state != RT_DELETE)
        make_table(info);
    search_table(walk);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&table.is_busy, false, memory_order_relaxed);
    return 1;
}

static int find_in_table(void *address, struct dl_find_object *result)
{
    struct walk walk = {.address = (uintptr_t)address};
    dl_iterate_phdr(search_locked, &walk);
    if (!walk.found.map)
        return -1;
    memset(result, 0, sizeof(*result));
    result->dlfo_map_start = (void *)walk.found.start;
    result->dlfo_map_end = (void *)walk.found.end;
    result->dlfo_link_map = walk.found.map;
    result->dlfo_eh_frame = walk.found.eh_frame;
    return 0;
}

int _dl_find_object(void *address, struct dl_find_object *result)
{
    find_object *find = atomic_load_explicit(&loaders, memory_order_relaxed);
    return (find ? find : find_in_table)(address, result);
}

bool pw_find_object_is_loaders(void)
{
    return atomic_load(&loaders) != NULL;
}

void pw_find_object_without_loader(void)
{
    atomic_store(&loaders, NULL);
}

/* At the start of the program: dlvsym() takes a lock that the program can hold later.
 * PROFWRAP_TEST_OLD_GLIBC is for tests. */
__attribute__((constructor(101))) static void look_up(void)
{
    void *found = getenv("PROFWRAP_TEST_OLD_GLIBC")
                      ? NULL
                      : dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35");
    find_object *find;
    memcpy(&find, &found, sizeof(find)); /* ISO C has no conversion to a function pointer */
    atomic_store(&loaders, find);
}

#pragma GCC visibility pop
