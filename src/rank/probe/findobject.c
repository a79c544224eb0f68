/* The object that is mapped at an address; see findobject.h.
 *
 * From glibc 2.35 on, the C library's function is called; it takes no lock. Before, a table of the
 * objects is searched. It is made from the loader's list by dl_iterate_phdr(), under the loader's
 * lock. A signal handler may search at any moment, so two things are different from a usual table.
 *
 * Readers take no lock. Of two tables, one is written while readers read the other. A table has a
 * version, which is odd while it is written.
 *
 * A table is out of date as soon as an object is loaded or unloaded. It must be made again, but a
 * signal handler must not lock what its own thread is locking or unlocking. So the loader's lock
 * and its two counters of objects are read, too: the lock tells whether it can be taken, and the
 * counters tell, without the lock, whether the table is up to date. They are in a structure of the
 * loader that has no public description. Their places are found by what must be there while the
 * lock is held; where they are not found, signal handlers know fewer objects. */
#include "rank/probe/findobject.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rank/probe/elfobject.h"

/* The copy that is in the probe; nobody else may find it. */
#pragma GCC visibility push(hidden)

typedef int find_object(void *address, struct dl_find_object *result);

/* What is known of the loader. Set once, except `find`, which tests clear. */
static struct {
    atomic_bool is_known;
    _Atomic(find_object *) find; /* NULL: before glibc 2.35 */
    const struct r_debug *debug;
    const char *data; /* the structure, and its size */
    size_t size;
    const unsigned *loaded; /* number of objects of the program's namespace */
    const unsigned long long *adds;
    _Atomic(const pthread_mutex_t *) lock; /* NULL: its place is not known */
} loader;

struct object {
    _Atomic uintptr_t start, end;
    _Atomic uintptr_t map, eh_frame;
    _Atomic uintptr_t is_permanent; /* loaded with the program, and never unloaded */
};

static struct table {
    _Atomic unsigned version;         /* odd while the table is written */
    _Atomic(struct object *) objects; /* sorted by address; never unmapped */
    _Atomic size_t n;                 /* 0 .. most */
    size_t most;                      /* written and read by writers */
    _Atomic unsigned long long adds;  /* of the loader when the table was made */
    _Atomic unsigned loaded;
} tables[2];

static _Atomic(struct table *) newest; /* NULL: none yet */
static _Atomic int writer;             /* the thread that writes a table; 0: none */
static _Atomic unsigned failures;

static int this_thread(void)
{
    return (int)syscall(SYS_gettid);
}

/* ---- the loader's lock ---- */

/* The lock's owner is set after the lock was taken, and cleared before it is given back. */
static int owner_of(const pthread_mutex_t *lock)
{
    return __atomic_load_n(&lock->__data.__owner, __ATOMIC_ACQUIRE);
}

static bool is_taken(const pthread_mutex_t *lock)
{
    return __atomic_load_n(&lock->__data.__lock, __ATOMIC_ACQUIRE) != 0;
}

/* While the loader removes objects, some that it lists are no longer mapped. */
static bool is_removing(void)
{
    return __atomic_load_n(&loader.debug->r_state, __ATOMIC_ACQUIRE) == RT_DELETE;
}

/* Returns 1 when dl_iterate_phdr() cannot wait for this thread itself, 0 when it could, -1 when
 * that is not known yet: a thread is locking or unlocking, perhaps this one, which a signal handler
 * has interrupted. The lock is recursive, but only between these. */
static int may_lock(const pthread_mutex_t *lock, int self)
{
    if (!is_taken(lock))
        return 1;
    const int owner = owner_of(lock);
    if (owner == self)
        return __atomic_load_n(&lock->__data.__count, __ATOMIC_RELAXED) > 0 && !is_removing();
    return owner != 0 ? 1 : -1;
}

/* How long to wait for a thread that is locking or unlocking. A signal handler that interrupted its
 * own thread there would wait for ever; usually its signal is blocked meanwhile. Other threads have
 * to wait for longer than the handler does. */
static int most_ms_to_wait(void)
{
    enum { IN_HANDLER = 100, ELSEWHERE = 10000 };
    sigset_t blocked;
    const bool is_known = pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0;
    return is_known && sigisemptyset(&blocked) ? ELSEWHERE : IN_HANDLER;
}

/* As may_lock(); waits for other threads, unless the caller `can_do_without` the lock. Where the
 * lock's place is not known, the answer is false for such a caller only. */
static bool can_lock(bool can_do_without)
{
    enum { YIELDS = 64 };
    const pthread_mutex_t *lock = atomic_load_explicit(&loader.lock, memory_order_acquire);
    const int self = this_thread();
    int may = lock ? may_lock(lock, self) : !can_do_without;
    for (int i = 0; may < 0 && i < YIELDS; i++) {
        sched_yield();
        may = may_lock(lock, self);
    }
    for (int left = may < 0 && !can_do_without ? most_ms_to_wait() : 0; may < 0 && left > 0;
         left--) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        may = may_lock(lock, self);
    }
    return may == 1;
}

/* ---- what the loader has ---- */

struct look {
    int self;
    unsigned objects;
    unsigned long long adds;
};

static const void *symbol_of(const struct pw_elf *elf, const char *name, size_t *size)
{
    const ElfW(Sym) *symbol = pw_elf_find(elf, name, pw_elf_hash(name));
    if (symbol && size)
        *size = symbol->st_size;
    return symbol ? (const void *)(elf->base + symbol->st_value) : NULL;
}

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct look *look = arg;
    struct pw_elf elf;
    (void)size;
    look->objects++;
    look->adds = info->dlpi_adds;
    pw_elf_read(&elf, info->dlpi_addr, pw_elf_dynamic(info));
    const void *data = symbol_of(&elf, "_rtld_global", &loader.size);
    if (data) {
        loader.data = data;
        loader.debug = symbol_of(&elf, "_r_debug", NULL);
    }
    if (symbol_of(&elf, "gnu_get_libc_version", NULL)) {
        const void *found = symbol_of(&elf, "_dl_find_object", NULL);
        find_object *find;
        memcpy(&find, &found, sizeof(find)); /* ISO C has no conversion to a function pointer */
        atomic_store(&loader.find, find);
    }
    return 0;
}

/* The counter of added objects comes after the lock, from glibc 2.35 on after another lock. */
static const unsigned long long *counter_after(const pthread_mutex_t *lock, unsigned long long adds)
{
    const unsigned long long *word = (const void *)(lock + 1);
    const char *const end = loader.data + loader.size;
    for (size_t i = 0; i <= sizeof(*lock) / sizeof(*word); i++)
        if ((const char *)(word + i + 1) <= end && word[i] == adds)
            return &word[i];
    return NULL;
}

/* Called while this thread has the lock. The structure begins with the list of the program's
 * namespace, and its length. Of several locks that the thread has, the list's is the last. */
static const pthread_mutex_t *find_lock(const struct look *look)
{
    const pthread_mutex_t *lock, *found = NULL;
    struct {
        const struct link_map *first;
        unsigned n;
    } list;
    if (loader.size < sizeof(list))
        return NULL;
    memcpy(&list, loader.data, sizeof(list));
    if (list.first != loader.debug->r_map || list.n != look->objects)
        return NULL;
    loader.loaded = (const unsigned *)(const void *)(loader.data + sizeof(list.first));
    for (size_t at = 0; at + sizeof(*lock) <= loader.size; at += sizeof(void *)) {
        lock = (const void *)(loader.data + at);
        const unsigned long long *adds = counter_after(lock, look->adds);
        if (is_taken(lock) && owner_of(lock) == look->self &&
            lock->__data.__kind == PTHREAD_MUTEX_RECURSIVE && adds) {
            loader.adds = adds;
            found = lock;
        }
    }
    return found;
}

static int look_locked(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct look look = {.self = this_thread()};
    (void)info, (void)size;
    dl_iterate_phdr(look_at_object, &look);
    if (loader.data && loader.debug)
        *(const pthread_mutex_t **)arg = find_lock(&look);
    return 1;
}

/* ---- how a table is made ---- */

struct walk {
    struct table *table;
    const struct table *before; /* the table that it replaces, or NULL */
    struct link_map *next;      /* the loader's entry of the next object */
    struct pw_elf program;
};

/* Those that the program itself names are loaded with it; so is the program. */
static bool is_permanent(const struct dl_phdr_info *info, const struct walk *walk)
{
    const struct pw_elf *program = &walk->program;
    struct pw_elf elf;
    pw_elf_read(&elf, info->dlpi_addr, pw_elf_dynamic(info));
    if (elf.dynamic == program->dynamic)
        return true;
    if (!elf.soname || !program->strings)
        return false;
    for (const ElfW(Dyn) *entry = program->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED &&
            strcmp(program->strings + entry->d_un.d_val, elf.soname) == 0)
            return true;
    return false;
}

static void set_range(struct object *object, const struct dl_phdr_info *info)
{
    uintptr_t start = UINTPTR_MAX, end = 0, eh_frame = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD) {
            start = begin < start ? begin : start;
            end = begin + segment->p_memsz > end ? begin + segment->p_memsz : end;
        } else if (segment->p_type == PT_GNU_EH_FRAME) {
            eh_frame = begin;
        }
    }
    atomic_store_explicit(&object->start, start & ~(uintptr_t)4095, memory_order_release);
    atomic_store_explicit(&object->end, end, memory_order_release);
    atomic_store_explicit(&object->eh_frame, eh_frame, memory_order_release);
}

static uintptr_t start_of(const struct object *object)
{
    return atomic_load_explicit(&object->start, memory_order_relaxed);
}

static void copy_object(struct object *to, const struct object *from)
{
    const _Atomic uintptr_t *word = (const _Atomic uintptr_t *)from;
    for (size_t i = 0; i < sizeof(*to) / sizeof(*word); i++)
        atomic_store_explicit((_Atomic uintptr_t *)to + i,
                              atomic_load_explicit(word + i, memory_order_relaxed),
                              memory_order_release);
}

/* Called for the objects in turn; the loader's entries are in the same order. */
static int insert(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct walk *walk = arg;
    struct object *objects = walk->table->objects, object = {0};
    const ElfW(Dyn) *dynamic = pw_elf_dynamic(info);
    struct link_map *map = walk->next;
    size_t at = walk->table->n;
    (void)size;
    while (map && (map->l_ld != dynamic || map->l_addr != info->dlpi_addr))
        map = map->l_next;
    if (!map || at == walk->table->most)
        return 0;
    walk->next = map->l_next;
    set_range(&object, info);
    object.map = (uintptr_t)map;
    object.is_permanent = is_permanent(info, walk);
    for (; at > 0 && start_of(&objects[at - 1]) > start_of(&object); at--)
        copy_object(&objects[at], &objects[at - 1]);
    copy_object(&objects[at], &object);
    atomic_fetch_add_explicit(&walk->table->n, 1, memory_order_release);
    return 0;
}

/* The smaller mapping stays, because a reader may be reading it; all of them together are as large
 * as the last one. */
static bool make_room(struct table *table, size_t n)
{
    size_t most = table->most ? table->most : 128;
    while (most < n)
        most *= 2;
    if (most == table->most)
        return true;
    struct object *objects = mmap(NULL, most * sizeof(*objects), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (objects == MAP_FAILED)
        return false;
    atomic_store_explicit(&table->objects, objects, memory_order_release);
    table->most = most;
    return true;
}

static int count(struct dl_phdr_info *info, size_t size, void *n)
{
    (void)info, (void)size;
    ++*(size_t *)n;
    return 0;
}

/* An odd version may be left of a process that was forked while it wrote. */
static bool write_table(struct table *table, const struct dl_phdr_info *program)
{
    const unsigned version = atomic_load_explicit(&table->version, memory_order_relaxed) | 1;
    struct walk walk = {.table = table, .next = loader.debug->r_map};
    size_t n = 0;
    dl_iterate_phdr(count, &n);
    pw_elf_read(&walk.program, program->dlpi_addr, pw_elf_dynamic(program));
    atomic_store_explicit(&table->version, version, memory_order_relaxed);
    atomic_store_explicit(&table->n, 0, memory_order_release);
    const bool has_room = make_room(table, n);
    if (has_room)
        dl_iterate_phdr(insert, &walk);
    atomic_store_explicit(&table->adds, program->dlpi_adds, memory_order_release);
    atomic_store_explicit(&table->loaded, loader.loaded ? *loader.loaded : 0, memory_order_release);
    atomic_store_explicit(&table->version, version + 1, memory_order_release);
    return has_room;
}

/* ---- the search ---- */

enum use {
    TO_TELL,  /* the loader's entry is read */
    TO_READ,  /* memory of the object is read, too */
    AS_IT_IS, /* the list is locked, and the table was just made */
};

enum outcome { NONE, FOUND, UNKNOWN };

/* No object is added without the one counter, and none is removed without the other. */
static bool is_up_to_date(const struct table *table)
{
    return atomic_load_explicit(&loader.lock, memory_order_acquire) &&
           atomic_load_explicit(&table->adds, memory_order_acquire) ==
               __atomic_load_n(loader.adds, __ATOMIC_ACQUIRE) &&
           atomic_load_explicit(&table->loaded, memory_order_acquire) ==
               __atomic_load_n(loader.loaded, __ATOMIC_ACQUIRE);
}

static bool search_table(const struct table *table, uintptr_t address, struct object *found)
{
    const struct object *objects = atomic_load_explicit(&table->objects, memory_order_acquire);
    size_t low = 0, high = atomic_load_explicit(&table->n, memory_order_acquire);
    const size_t n = high;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (atomic_load_explicit(&objects[middle].end, memory_order_acquire) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == n)
        return false;
    copy_object(found, &objects[low]);
    return address >= start_of(found);
}

static enum outcome search(uintptr_t address, enum use use, struct object *found)
{
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        const struct table *table = atomic_load_explicit(&newest, memory_order_acquire);
        if (!table)
            return UNKNOWN;
        const unsigned version = atomic_load_explicit(&table->version, memory_order_acquire);
        const bool is_current = use == AS_IT_IS || is_up_to_date(table);
        const bool is_found = search_table(table, address, found);
        atomic_thread_fence(memory_order_acquire);
        if ((version & 1) || atomic_load_explicit(&table->version, memory_order_relaxed) != version)
            continue;
        if (is_found && found->is_permanent)
            return FOUND;
        if (!is_current || (is_found && use == TO_READ && is_removing()))
            return UNKNOWN;
        return is_found ? FOUND : NONE;
    }
    return UNKNOWN;
}

/* ---- the search with the list locked ---- */

/* Called with the list locked. Returns whether the newest table is up to date now. */
static bool renew_table(const struct dl_phdr_info *program, int self)
{
    struct table *table = atomic_load(&newest);
    if (atomic_load(&loader.lock) && *loader.adds != program->dlpi_adds)
        atomic_store(&loader.lock, NULL); /* it was another counter that had the same value */
    if (table && is_up_to_date(table))
        return true;
    table = &tables[table == &tables[0]];
    atomic_store_explicit(&writer, self, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    const bool is_written = write_table(table, program);
    if (is_written)
        atomic_store(&newest, table);
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&writer, 0, memory_order_relaxed);
    return is_written;
}

struct request {
    uintptr_t address;
    enum use use;
    enum outcome outcome;
    struct object found;
};

/* Called for the first object, the program, with the list locked. A signal handler that interrupts
 * its own thread here leaves the tables as they are. */
static int search_locked(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct request *request = arg;
    const int self = this_thread();
    (void)size;
    if (atomic_load_explicit(&writer, memory_order_relaxed) == self || !renew_table(info, self))
        return 1;
    const enum use use = atomic_load(&loader.lock) ? request->use : AS_IT_IS;
    request->outcome = search(request->address, use, &request->found);
    return 1;
}

static void look_up(void);

static enum outcome find_in_table(const void *address, enum use use, struct dl_find_object *result)
{
    struct request request = {.address = (uintptr_t)address, .use = use, .outcome = UNKNOWN};
    if (!atomic_load_explicit(&loader.is_known, memory_order_acquire))
        look_up();
    if (!loader.debug)
        return UNKNOWN;
    request.outcome = search(request.address, use, &request.found);
    if (request.outcome == UNKNOWN && can_lock(use == TO_READ))
        dl_iterate_phdr(search_locked, &request);
    if (request.outcome != FOUND)
        return request.outcome;
    memset(result, 0, sizeof(*result));
    result->dlfo_map_start = (void *)request.found.start;
    result->dlfo_map_end = (void *)request.found.end;
    result->dlfo_link_map = (struct link_map *)request.found.map;
    result->dlfo_eh_frame = (void *)request.found.eh_frame;
    return FOUND;
}

/* ---- the interface ---- */

int _dl_find_object(void *address, struct dl_find_object *result)
{
    find_object *find = atomic_load_explicit(&loader.find, memory_order_relaxed);
    if (find)
        return find(address, result);
    const enum outcome outcome = find_in_table(address, TO_READ, result);
    if (outcome == UNKNOWN)
        atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
    return outcome == FOUND ? 0 : -1;
}

bool pw_find_object(const void *address, struct dl_find_object *object)
{
    find_object *find = atomic_load_explicit(&loader.find, memory_order_relaxed);
    if (find)
        return find((void *)(uintptr_t)address, object) == 0;
    return find_in_table(address, TO_TELL, object) == FOUND;
}

int pw_list_objects(pw_object_visit *visit, void *arg)
{
    if (!atomic_load_explicit(&loader.find, memory_order_relaxed) && !can_lock(false))
        return 0;
    return dl_iterate_phdr(visit, arg);
}

unsigned pw_find_object_failures(void)
{
    return atomic_load_explicit(&failures, memory_order_relaxed);
}

bool pw_find_object_is_loaders(void)
{
    return atomic_load(&loader.find) != NULL;
}

bool pw_find_object_knows_lock(void)
{
    return atomic_load(&loader.lock) != NULL;
}

void pw_find_object_without_loader(void)
{
    atomic_store(&loader.find, NULL);
}

/* At the start of the program, or when a constructor of another library needs an object before.
 * PROFWRAP_TEST_OLD_GLIBC is for tests. */
__attribute__((constructor(101))) static void look_up(void)
{
    const pthread_mutex_t *lock = NULL;
    struct request request = {.use = TO_TELL};
    if (atomic_load(&loader.is_known))
        return;
    dl_iterate_phdr(look_locked, &lock);
    atomic_store(&loader.lock, lock);
    if (getenv("PROFWRAP_TEST_OLD_GLIBC"))
        pw_find_object_without_loader();
    atomic_store(&loader.is_known, true);
    if (loader.debug && !atomic_load(&loader.find)) /* else the table is not needed */
        dl_iterate_phdr(search_locked, &request);
}

#pragma GCC visibility pop
