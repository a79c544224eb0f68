/* A table of sets of places, each with a version that is odd while it is written. Readers take no
 * lock: who finds a place being written, by another thread or by what its signal interrupted, finds
 * nothing there. */
#include "rank/probe/scopecache.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

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

/* A sum of words, each times a factor of its own: no word waits for the one before. */
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

/* An object as it is now; another one may be loaded where it was. 0: there is none. */
static uint64_t identify(const void *address)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)(uintptr_t)address, &object))
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

/* False where it is being written. */
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
    for (int i = 0; i < WORDS; i++) /* each after the odd version */
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

void pw_scope_keep(const struct pw_scope_query *query, const struct pw_scope_answer *answer,
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
