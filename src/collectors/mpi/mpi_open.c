/* Open requests in the memory of a running program; see mpi_open.h. */
#include "collectors/mpi/mpi_open.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collectors/mpi/mpi_requeststate.h"
#include "core/ops.h"
#include "rank/ring/record.h"

/* A hash table with open addressing. */

struct pw_mpi_pair *pw_mpi_pairs_at(struct pw_mpi_pairs *pairs, uint32_t comm, int32_t peer)
{
    struct pw_mpi_pair *last = pairs->last;
    if (last && last->comm == comm + 1 && last->peer == peer)
        return last;
    const uint64_t key = (uint64_t)comm << 32 | (uint32_t)peer;
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 52);
    while (pairs->places[at].comm &&
           (pairs->places[at].comm != comm + 1 || pairs->places[at].peer != peer))
        at = (at + 1) % PW_MPI_PAIRS;
    struct pw_mpi_pair *pair = &pairs->places[at];
    if (!pair->comm && pairs->n == PW_MPI_PAIRS_MOST) {
        pairs->is_short = true;
        return NULL;
    }
    if (!pair->comm) {
        *pair = (struct pw_mpi_pair){.comm = comm + 1, .peer = peer};
        pairs->n++;
    }
    pairs->last = pair;
    return pair;
}

/* Most entries, buckets and requests of a call that are looked at. */
enum { MOST_OPEN = 1 << 14, MOST_BUCKETS = 1 << 16, MOST_AWAITED = 4096 };

struct entry {
    uint64_t handle;
    uint32_t state;
    struct pw_record record;
};

struct table {
    pid_t pid;
    const struct pw_request_places *places;
    struct entry *entries; /* room for MOST_OPEN */
    size_t n;
    bool is_whole;
};

static bool read_memory(pid_t pid, uint64_t from, void *to, size_t bytes)
{
    const struct iovec own = {to, bytes}, theirs = {(void *)(uintptr_t)from, bytes};
    return from && process_vm_readv(pid, &own, 1, &theirs, 1, 0) == (ssize_t)bytes;
}

/* Handles have 4 or 8 bytes; here they are only compared. */
static uint64_t handle_at(const unsigned char *from, size_t bytes)
{
    uint64_t handle = 0;
    memcpy(&handle, from, bytes <= sizeof(handle) ? bytes : sizeof(handle));
    return handle;
}

static void add_entry(struct table *t, const unsigned char *from)
{
    struct entry *entry = &t->entries[t->n];
    const uint32_t state_at = atomic_load(&t->places->state_at);
    const uint32_t at = atomic_load(&t->places->handle_at);
    if (t->n == MOST_OPEN || state_at > PW_REQUEST_BYTES - 4 || at > PW_REQUEST_BYTES - 8) {
        t->is_whole = false;
        return;
    }
    memcpy(&entry->record, from, sizeof(entry->record));
    memcpy(&entry->state, from + state_at, sizeof(entry->state));
    entry->handle = handle_at(from + at, atomic_load(&t->places->handle_bytes));
    if (entry->record.op < PW_OP_COUNT)
        t->n++;
}

static void read_front(struct table *t)
{
    enum { BYTES = PW_REQUEST_FRONT * PW_REQUEST_BYTES };
    const uint32_t state_at = atomic_load(&t->places->state_at);
    unsigned char *rows = malloc(BYTES);
    t->is_whole = rows && state_at <= PW_REQUEST_BYTES - 4 &&
                  read_memory(t->pid, atomic_load(&t->places->front), rows, BYTES);
    for (size_t i = 0; t->is_whole && i < PW_REQUEST_FRONT; i++) {
        const unsigned char *row = rows + i * PW_REQUEST_BYTES;
        uint32_t state;
        memcpy(&state, row + state_at, sizeof(state));
        if (state & PW_REQUEST_OPEN)
            add_entry(t, row);
    }
    free(rows);
}

/* Reads the entries that a bucket begins. A persistent one that is not started is not open. */
static void read_chain(struct table *t, uint64_t at)
{
    const uint32_t next_at = atomic_load(&t->places->next_at);
    for (size_t i = 0; at; i++) {
        unsigned char bytes[PW_REQUEST_BYTES];
        if (i == MOST_OPEN || next_at > PW_REQUEST_BYTES - 8 ||
            !read_memory(t->pid, at, bytes, sizeof(bytes))) {
            t->is_whole = false;
            return;
        }
        const size_t before = t->n;
        add_entry(t, bytes);
        const uint32_t state = t->n > before ? t->entries[before].state : 0;
        if (state &
            PW_REQUEST_UNUSED) /* it has been taken out meanwhile: the others are not seen */
            t->is_whole = false;
        if ((state & (PW_REQUEST_PERSISTENT | PW_REQUEST_ACTIVE)) == PW_REQUEST_PERSISTENT)
            t->n = before;
        memcpy(&at, bytes + next_at, sizeof(at));
        if (!t->is_whole)
            return;
    }
}

static void read_buckets(struct table *t, uint64_t at, size_t n)
{
    uint64_t *buckets = malloc(n * sizeof(*buckets));
    if (!buckets || !read_memory(t->pid, at, buckets, n * sizeof(*buckets)))
        t->is_whole = false;
    for (size_t i = 0; t->is_whole && i < n; i++)
        read_chain(t, buckets[i]);
    free(buckets);
}

static void read_hashed(struct table *t)
{
    uint32_t left = 0;
    uint64_t segments[PW_REQUEST_SEGMENTS];
    if (!read_memory(t->pid, atomic_load(&t->places->buckets), &left, sizeof(left)) ||
        !read_memory(t->pid, atomic_load(&t->places->segments), segments, sizeof(segments)) ||
        left > MOST_BUCKETS) {
        t->is_whole = false;
        return;
    }
    for (size_t s = 0; left && s < PW_REQUEST_SEGMENTS && t->is_whole; s++) {
        const uint32_t size = (uint32_t)PW_REQUEST_FIRST_BUCKETS << (s ? s - 1 : 0);
        const uint32_t used = size < left ? size : left;
        read_buckets(t, segments[s], used);
        left -= used;
    }
}

static int by_handle(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->handle < y->handle ? -1 : x->handle > y->handle;
}

/* ---- what the threads wait for ---- */

static bool is_alike(const struct pw_live_request *a, const struct pw_live_request *b)
{
    return a->thread == b->thread && a->op == b->op && a->peer == b->peer && a->tag == b->tag &&
           a->comm_uid == b->comm_uid && a->seq == b->seq;
}

static void add_request(struct pw_live *live, const struct pw_live_request *request)
{
    for (size_t i = 0; i < live->nrequests; i++)
        if (is_alike(&live->requests[i], request)) {
            live->requests[i].count++;
            return;
        }
    if (live->nrequests == PW_LIVE_REQUESTS)
        live->threads[request->thread].unlisted++;
    else
        live->requests[live->nrequests++] = *request;
}

/* Adds the requests of the call that the thread is in. Completed ones have become
 * MPI_REQUEST_NULL, or are in no table, as those that were complete at once. */
static void add_awaited(const struct table *t, const struct pw_mpi_uids *uids, uint16_t thread,
                        struct pw_live *live)
{
    struct pw_live_thread *waiter = &live->threads[thread];
    const size_t bytes = atomic_load(&t->places->handle_bytes);
    const uint32_t n = waiter->requests_n < MOST_AWAITED ? waiter->requests_n : MOST_AWAITED;
    unsigned char handles[MOST_AWAITED * sizeof(uint64_t)];
    waiter->unlisted = (int32_t)(waiter->requests_n - n);
    if (!t->is_whole || bytes > sizeof(uint64_t) || waiter->requests_n > INT32_MAX ||
        !read_memory(t->pid, waiter->requests_at, handles, n * bytes)) {
        waiter->unlisted = waiter->requests_n <= INT32_MAX ? (int32_t)waiter->requests_n : 0;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct entry key = {.handle = handle_at(handles + i * bytes, bytes)};
        const struct entry *found = bsearch(&key, t->entries, t->n, sizeof(*t->entries), by_handle);
        if (!found || found->record.op == PW_OP_None)
            continue;
        const struct pw_record *record = &found->record;
        const bool is_collective = (found->state & PW_REQUEST_CLASS) == PW_CLASS_COLL;
        const struct pw_live_request request = {
            .thread = thread,
            .op = record->op,
            .peer = record->comm.peer >= 0 ? record->comm.peer : -1,
            .tag = is_collective ? 0 : record->comm.tag,
            .count = 1,
            .comm_uid = uids->of(uids->state, record->comm.comm),
            .seq = is_collective ? (int64_t)record->comm.seq : -1,
        };
        add_request(live, &request);
    }
}

/* ---- messages ---- */

/* Returns whether all sends could be counted: the record of an open MPI_Isendrecv is that of the
 * receive, and both parts have records when it has completed. */
static bool count_sending(const struct table *t, struct pw_mpi_pairs *pairs)
{
    bool is_whole = true;
    for (size_t i = 0; i < PW_MPI_PAIRS; i++)
        pairs->places[i].sending = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct pw_record *record = &t->entries[i].record;
        const int is_two = (t->entries[i].state & PW_REQUEST_TWO_PARTS) != 0;
        is_whole = is_whole && !is_two;
        if (is_two || (t->entries[i].state & PW_REQUEST_CLASS) != PW_CLASS_SEND ||
            record->comm.comm == UINT32_MAX || record->comm.peer < 0 ||
            pw_live_is_partitioned(record->op))
            continue;
        struct pw_mpi_pair *pair = pw_mpi_pairs_at(pairs, record->comm.comm, record->comm.peer);
        if (pair)
            pair->sending++;
    }
    return is_whole;
}

static void add_pairs(const struct pw_mpi_pairs *pairs, const struct pw_mpi_uids *uids,
                      struct pw_live *live)
{
    for (size_t i = 0; i < PW_MPI_PAIRS; i++) {
        const struct pw_mpi_pair *pair = &pairs->places[i];
        const uint64_t uid = pair->comm ? uids->of(uids->state, pair->comm - 1) : 0;
        if (!uid)
            continue;
        if (live->npairs == PW_LIVE_PAIRS) {
            live->pairs_known = 0;
            return;
        }
        live->pairs[live->npairs++] =
            (struct pw_live_pair){uid, pair->peer, pair->sent, pair->sending, pair->received};
    }
}

void pw_mpi_open_add(const struct pw_segment_shared *segment, struct pw_mpi_pairs *pairs,
                     const struct pw_mpi_uids *uids, struct pw_live *live)
{
    struct table t = {.pid = (pid_t)live->pid, .places = &segment->requests};
    live->requests = calloc(PW_LIVE_REQUESTS, sizeof(*live->requests));
    if (!live->pairs)
        live->pairs = calloc(PW_LIVE_PAIRS, sizeof(*live->pairs));
    t.entries = malloc(MOST_OPEN * sizeof(*t.entries));
    if (live->requests && live->pairs && t.entries) {
        read_front(&t);
        if (t.is_whole)
            read_hashed(&t);
        qsort(t.entries, t.n, sizeof(*t.entries), by_handle);
        for (size_t i = 0; i < live->nthreads; i++)
            if (live->threads[i].requests_n)
                add_awaited(&t, uids, (uint16_t)i, live);
        const bool all_counted = count_sending(&t, pairs);
        live->pairs_known = t.is_whole && all_counted && !pairs->is_short;
        add_pairs(pairs, uids, live);
    }
    free(t.entries);
}
