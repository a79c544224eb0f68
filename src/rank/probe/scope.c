/* Searches the objects of the process as the loader would; see scope.h. */
#include "rank/probe/scope.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "rank/probe/elfobject.h"
#include "rank/probe/findobject.h"

/* A cache of earlier answers. In-app code.
 *
 * The table has SETS sets of WAYS places. Each place has a version, which is odd while the place is
 * written. Readers take no lock. A reader that finds an odd or changed version treats the place as
 * empty: another thread is writing it, or this thread was interrupted by a signal while it
 * wrote. */

enum { SETS = 1024, WAYS = 4, WORDS = 6 };

struct kept {
    uint64_t symbol; /* 0: the place is free */
    uint64_t caller, owner;
    uint64_t target;
    uint64_t loads;
    uint8_t state, kind, unused[6];
};

static struct place {
    _Atomic uint32_t version;
    _Atomic uint64_t words[WORDS];
} places[SETS][WAYS];

static uint64_t mix(uint64_t seed, uint64_t word)
{
    seed = (seed ^ word) * 0x9e3779b97f4a7c15ull;
    return seed ^ seed >> 32;
}

/* Returns a hash: the sum of the text's 8-byte words, each multiplied by another factor. The
 * multiplications do not depend on each other, so the CPU can overlap them. */
static uint64_t sum_text(const char *text)
{
    const size_t length = strlen(text);
    uint64_t word = 0, factor = 0x9e3779b97f4a7c15ull, sum = 0;
    for (size_t at = 0; at + sizeof(word) <= length; at += sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        sum += word * factor;
        factor += 0x3c6ef372fe94f82aull;
    }
    if (length >= sizeof(word))
        memcpy(&word, text + length - sizeof(word), sizeof(word));
    else
        memcpy(&word, text, length);
    return sum + word * factor + length;
}

/* Returns an id of the object that is mapped at `address` now, 0: none. The id differs when another
 * object was loaded there later. */
static uint64_t identify(const void *address)
{
    struct dl_find_object object;
    if (!pw_find_object(address, &object))
        return 0;
    const struct link_map *map = object.dlfo_link_map;
    const uint64_t place =
        (uintptr_t)map * 0xd1342543de82ef95ull + (uintptr_t)map->l_ld * 0xaf251af3b0f025b5ull +
        (uintptr_t)object.dlfo_map_start * 0xbb67ae8584caa73bull + (uintptr_t)object.dlfo_map_end;
    const uint64_t id = mix(place, sum_text(map->l_name ? map->l_name : ""));
    return id ? id : 1;
}

static struct place *set_of(uint64_t symbol, uint64_t caller)
{
    return places[mix(mix(0, symbol), caller) % SETS];
}

/* Returns false when the place is being written. */
static bool read_place(struct place *place, struct kept *kept)
{
    static_assert(sizeof(*kept) == WORDS * sizeof(uint64_t), "the words of a place");
    uint64_t words[WORDS];
    const uint32_t version = atomic_load_explicit(&place->version, memory_order_acquire);
    for (int i = 0; i < WORDS; i++)
        words[i] = atomic_load_explicit(&place->words[i], memory_order_acquire);
    memcpy(kept, words, sizeof(words));
    return !(version & 1) && atomic_load_explicit(&place->version, memory_order_relaxed) == version;
}

static void write_place(struct place *place, const struct kept *kept)
{
    uint64_t words[WORDS];
    uint32_t version = atomic_load_explicit(&place->version, memory_order_relaxed);
    memcpy(words, kept, sizeof(words));
    if ((version & 1) || !atomic_compare_exchange_strong(&place->version, &version, version + 1))
        return;
    for (int i = 0; i < WORDS; i++) /* release: visible after the odd version */
        atomic_store_explicit(&place->words[i], words[i], memory_order_release);
    atomic_store_explicit(&place->version, version + 2, memory_order_release);
}

static bool is_of(const struct kept *kept, const struct pw_scope_query *query, uint64_t caller)
{
    return kept->symbol == (uintptr_t)query->symbol && kept->caller == caller &&
           kept->state == query->state;
}

bool pw_scope_recall(const struct pw_scope_query *query, struct pw_scope_answer *answer)
{
    const uint64_t caller = identify(query->caller);
    struct place *set = set_of((uintptr_t)query->symbol, caller);
    struct kept kept;
    for (int i = 0; i < WAYS; i++) {
        if (!read_place(&set[i], &kept) || !is_of(&kept, query, caller))
            continue;
        void *target = (void *)(uintptr_t)kept.target;
        answer->target = target;
        answer->kind = kept.kind;
        return target ? identify(target) == kept.owner : pw_scope_loads() == kept.loads;
    }
    return false;
}

/* Stores an answer in the cache. The answer "no definition" is valid until another object is
 * loaded: until pw_scope_loads() differs from `loads`. */
static void pw_scope_keep(const struct pw_scope_query *query, const struct pw_scope_answer *answer,
                          unsigned long long loads)
{
    static _Atomic unsigned turn;
    const uint64_t caller = identify(query->caller);
    struct place *set = set_of((uintptr_t)query->symbol, caller);
    struct kept kept = {.symbol = (uintptr_t)query->symbol,
                        .caller = caller,
                        .owner = answer->target ? identify(answer->target) : 0,
                        .target = (uintptr_t)answer->target,
                        .loads = loads,
                        .state = query->state,
                        .kind = answer->kind};
    int best = -1;
    if (!answer->target && !loads)
        return;
    for (int i = 0; i < WAYS; i++) {
        struct kept there;
        if (!read_place(&set[i], &there))
            continue;
        if (is_of(&there, query, caller)) {
            best = i;
            break;
        }
        best = best < 0 && !there.symbol ? i : best;
    }
    if (best < 0)
        best = (int)(atomic_fetch_add(&turn, 1) % WAYS);
    write_place(&set[best], &kept);
}

const struct link_map *pw_scope_object(const void *address)
{
    struct dl_find_object object;
    return pw_find_object(address, &object) ? object.dlfo_link_map : NULL;
}

static const struct link_map *probe_object(void)
{
    static const char anchor;
    return pw_scope_object(&anchor);
}

/* ---- the list of objects, while it is locked ---- */

struct listed {
    struct pw_elf elf;
    const char *name; /* DT_SONAME, by which other objects need it */
    uint32_t hash;    /* of the name */
    uint32_t first_edge, nedges;
    uint32_t mark; /* 1 + the object in whose scope it was seen last */
};

/* The objects of the process and what each of them needs, in one mapping. The loader searches an
 * object and what it needs breadth first. */
struct graph {
    struct listed *objects;
    uint32_t *edges, *queue, *names; /* names: a hash table of 1 + index, 0: free; its size is a
                                      * power of two */
    uint32_t n, nedges, most, most_edges, nnames;
    void *memory;
    size_t bytes;
};

struct search {
    const char *symbol;
    uint32_t hash;
    const ElfW(Dyn) * start, *ours; /* dynamic sections of the caller's object and of the probe */
    bool is_of_object;              /* 1: search what `start` needs; 0: also what it was loaded
                                     * with */
    struct graph graph;
    unsigned definitions; /* number of definitions in the process */
    void *found;
    size_t size;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    struct pw_elf elf;
    (void)size;
    pw_elf_read(&elf, info->dlpi_addr, pw_elf_dynamic(info));
    s->graph.most++;
    for (const ElfW(Dyn) *entry = elf.dynamic; entry && entry->d_tag != DT_NULL; entry++)
        s->graph.most_edges += entry->d_tag == DT_NEEDED;
    if (elf.dynamic != s->ours && pw_elf_find(&elf, s->symbol, s->hash))
        s->definitions++;
    return 0;
}

static int list_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct graph *g = &((struct search *)arg)->graph;
    struct listed *object = &g->objects[g->n];
    (void)size;
    if (g->n >= g->most)
        return 1;
    pw_elf_read(&object->elf, info->dlpi_addr, pw_elf_dynamic(info));
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    object->name = object->elf.soname ? object->elf.soname : base_name(path);
    object->hash = pw_elf_hash(object->name);
    g->n++;
    return 0;
}

/* Returns 1 + the index of the object with this name, 0: none. With `index` not 0, adds that object
 * under the name unless the name is taken: the object that was loaded first keeps it. */
static uint32_t by_name(struct graph *g, const char *name, uint32_t hash, uint32_t index)
{
    uint32_t at = hash & (g->nnames - 1);
    for (; g->names[at]; at = (at + 1) & (g->nnames - 1)) {
        const struct listed *object = &g->objects[g->names[at] - 1];
        if (object->hash == hash && strcmp(object->name, name) == 0)
            return g->names[at];
    }
    g->names[at] = index;
    return index;
}

static void link_objects(struct graph *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        by_name(g, g->objects[i].name, g->objects[i].hash, i + 1);
    for (uint32_t i = 0; i < g->n; i++) {
        struct listed *object = &g->objects[i];
        object->first_edge = g->nedges;
        const ElfW(Dyn) *entry = object->elf.strings ? object->elf.dynamic : NULL;
        for (; entry && entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag != DT_NEEDED || g->nedges >= g->most_edges)
                continue;
            const char *needed = base_name(object->elf.strings + entry->d_un.d_val);
            const uint32_t found = by_name(g, needed, pw_elf_hash(needed), 0);
            if (found)
                g->edges[g->nedges++] = found - 1;
        }
        object->nedges = g->nedges - object->first_edge;
    }
}

static bool make_graph(struct search *s)
{
    struct graph *g = &s->graph;
    for (g->nnames = 64; g->nnames < 2 * g->most; g->nnames *= 2)
        ;
    g->bytes = g->most * (sizeof(struct listed) + sizeof(uint32_t)) +
               (g->most_edges + g->nnames) * sizeof(uint32_t);
    g->memory = mmap(NULL, g->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->memory == MAP_FAILED)
        return false;
    g->objects = g->memory;
    g->queue = (uint32_t *)(void *)(g->objects + g->most);
    g->edges = g->queue + g->most;
    g->names = g->edges + g->most_edges;
    pw_list_objects(list_object, s);
    link_objects(g);
    return true;
}

/* Sets *found to the first definition in the scope of object `root`. Returns whether `start` is in
 * that scope. */
static bool search_scope(struct search *s, uint32_t root, void **found, size_t *size)
{
    struct graph *g = &s->graph;
    uint32_t end = 0;
    bool has_start = false;
    *found = NULL;
    g->objects[root].mark = root + 1;
    g->queue[end++] = root;
    for (uint32_t next = 0; next < end; next++) {
        const struct listed *object = &g->objects[g->queue[next]];
        has_start |= object->elf.dynamic == s->start;
        const ElfW(Sym) *symbol = !*found && object->elf.dynamic != s->ours
                                      ? pw_elf_find(&object->elf, s->symbol, s->hash)
                                      : NULL;
        if (symbol) {
            *found = (void *)(object->elf.base + symbol->st_value);
            *size = symbol->st_size;
        }
        for (uint32_t e = 0; e < object->nedges; e++) {
            const uint32_t needed = g->edges[object->first_edge + e];
            if (g->objects[needed].mark != root + 1) {
                g->objects[needed].mark = root + 1;
                g->queue[end++] = needed;
            }
        }
    }
    return has_start;
}

/* The list has the objects in the order in which they were loaded; an object comes before those
 * that were loaded because of it. So the first object in whose scope the caller is has loaded the
 * caller. Later objects that need the caller add their scopes. */
static void search_scopes(struct search *s)
{
    void *found = NULL;
    size_t size = 0;
    for (uint32_t i = 0; i < s->graph.n && !s->found; i++) {
        if (s->is_of_object && s->graph.objects[i].elf.dynamic != s->start)
            continue;
        if (search_scope(s, i, &found, &size) && found) {
            s->found = found;
            s->size = size;
        }
    }
}

/* Called by dl_iterate_phdr() for the first object; the list of objects is locked until it
 * returns. */
static int search_list(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    (void)info, (void)size;
    pw_list_objects(count_object, s);
    if (s->definitions && s->start && make_graph(s)) {
        search_scopes(s);
        munmap(s->graph.memory, s->graph.bytes);
    }
    return 1;
}

static void search(struct search *s, const struct link_map *start)
{
    const struct link_map *ours = probe_object();
    s->hash = pw_elf_hash(s->symbol);
    s->start = start ? start->l_ld : NULL;
    s->ours = ours ? ours->l_ld : NULL;
    pw_list_objects(search_list, s);
}

/* ---- answers ---- */

static void *find_definition(const char *symbol, const struct link_map *caller)
{
    struct search s = {.symbol = symbol};
    search(&s, caller);
    if (s.definitions == 0 || (s.definitions == 1 && s.found))
        return s.found;
    void *next = dlsym(RTLD_NEXT, symbol);
    return next && pw_scope_object(next) != probe_object() ? next : s.found;
}

struct pw_scope_answer pw_scope_find(const struct pw_scope_query *query)
{
    struct pw_scope_answer answer = {0};
    const unsigned long long loads = pw_scope_loads();
    answer.target = find_definition(query->symbol, pw_scope_object(query->caller));
    if (!answer.target && query->otherwise)
        answer.target = query->otherwise(query->symbol);
    if (answer.target && query->classify)
        answer.kind = query->classify(answer.target);
    pw_scope_keep(query, &answer, loads);
    return answer;
}

void *pw_scope_needed(const struct link_map *object, const char *symbol, size_t *size)
{
    struct search s = {.symbol = symbol, .is_of_object = true};
    search(&s, object);
    if (size)
        *size = s.size;
    return s.found;
}

bool pw_scope_defines(const struct link_map *object, const char *symbol)
{
    struct pw_elf elf;
    pw_elf_read(&elf, object->l_addr, object->l_ld);
    return pw_elf_find(&elf, symbol, pw_elf_hash(symbol)) != NULL;
}

/* ---- objects by what they are ---- */

bool pw_scope_is_named(const struct dl_phdr_info *info, const void *prefix)
{
    return info->dlpi_name &&
           strncmp(base_name(info->dlpi_name), prefix, strlen((const char *)prefix)) == 0;
}

bool pw_scope_is_defining(const struct dl_phdr_info *info, const void *symbol)
{
    const struct link_map *ours = probe_object();
    struct pw_elf elf;
    pw_elf_read(&elf, info->dlpi_addr, pw_elf_dynamic(info));
    return !(ours && elf.dynamic == ours->l_ld) &&
           pw_elf_find(&elf, symbol, pw_elf_hash(symbol)) != NULL;
}

struct definition {
    const char *symbol, *except;
    uint32_t hash;
    void *found;
};

static int look_for_definition(struct dl_phdr_info *info, size_t size, void *context)
{
    struct definition *d = context;
    const struct link_map *ours = probe_object();
    struct pw_elf elf;
    (void)size;
    pw_elf_read(&elf, info->dlpi_addr, pw_elf_dynamic(info));
    if ((ours && elf.dynamic == ours->l_ld) || pw_scope_is_named(info, d->except))
        return 0;
    const ElfW(Sym) *symbol = pw_elf_find(&elf, d->symbol, d->hash);
    if (symbol)
        d->found = (void *)(elf.base + symbol->st_value);
    return symbol != NULL;
}

void *pw_scope_definition(const char *symbol, const char *except)
{
    struct definition d = {symbol, except, pw_elf_hash(symbol), NULL};
    pw_list_objects(look_for_definition, &d);
    return d.found;
}

bool pw_scope_is_importing(const struct dl_phdr_info *info, const void *symbol)
{
    const struct link_map *ours = probe_object();
    struct pw_elf elf;
    pw_elf_read(&elf, info->dlpi_addr, pw_elf_dynamic(info));
    return !(ours && elf.dynamic == ours->l_ld) && pw_elf_imports(&elf, symbol);
}

struct nth {
    pw_scope_test *is_wanted;
    const void *what;
    size_t left;
    char *path;
    bool is_found;
};

static int copy_nth(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct nth *nth = arg;
    (void)size;
    if (!nth->is_wanted(info, nth->what) || nth->left-- > 0)
        return 0;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const size_t length = strnlen(path, PATH_MAX - 1); /* no object has a longer path */
    memcpy(nth->path, path, length);
    nth->path[length] = '\0';
    nth->is_found = true;
    return 1;
}

bool pw_scope_path(pw_scope_test *is_wanted, const void *what, size_t n, char path[PATH_MAX])
{
    struct nth nth = {.is_wanted = is_wanted, .what = what, .left = n, .path = path};
    pw_list_objects(copy_nth, &nth);
    return nth.is_found;
}

static int copy_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof(info->dlpi_adds))
        *(unsigned long long *)loads = info->dlpi_adds;
    return 1;
}

unsigned long long pw_scope_loads(void)
{
    unsigned long long loads = 0;
    pw_list_objects(copy_loads, &loads);
    return loads;
}

/* For a caller without the function in its scope. Where a library ends a function with this call,
 * the return address is in what called that function: it may be the probe. */
static void *find_anywhere(const char *symbol)
{
    return pw_scope_definition(symbol, "libprofwrap");
}

pw_any_function *pw_scope_function(const char *symbol, const void *caller)
{
    const struct pw_scope_query query = {
        .symbol = symbol, .caller = caller, .otherwise = find_anywhere};
    struct pw_scope_answer answer;
    pw_any_function *function;
    if (!pw_scope_recall(&query, &answer))
        answer = pw_scope_find(&query);
    memcpy(&function, &answer.target, sizeof(function)); /* ISO C has no conversion from a pointer
                                                          * to a function pointer */
    return function;
}
