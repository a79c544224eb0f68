/* Registers communicators and writes their definitions for the merge; see mpi_comm.h. */
#include "collectors/mpi/mpi_comm.h"

#include <string.h>
#include <sys/mman.h>

#include "collectors/mpi/mpi_lock.h"
#include "core/ops.h"
#include "rank/probe/arena.h"

enum { BUCKETS = 1024 };
#define NEVER UINT64_MAX /* a value that mpi_usual never has */

static struct {
    _Atomic(struct pw_mpi_comm *) buckets[BUCKETS];
    struct pw_mpi_comm *unused;
    uint32_t count;
    atomic_flag lock;
    MPI_Group world_group;
    int world_rank;
    bool is_session_new; /* no communicator of several ranks was made yet */
    uint64_t salt;       /* 0, unless calls were made before the first recorded one */
} comms = {.lock = ATOMIC_FLAG_INIT};

/* How often each pair of parent and members was registered: a hash table with open addressing,
 * which never shrinks. */
static struct {
    uint64_t key;
    uint32_t count;
} seen[1 << 14];

_Atomic uint32_t pw_mpi_epoch = 1;
_Thread_local struct pw_mpi_last pw_mpi_last
    __attribute__((tls_model("initial-exec"))) = {.blocking = NEVER, .nonblocking = NEVER};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

static unsigned bucket_of(pw_mpi_key handle)
{
    return (unsigned)(mix(1, PW_MPI_NUMBER(handle)) >> 32) % BUCKETS;
}

static uint32_t occurrence(uint64_t key)
{
    const uint32_t slots = sizeof(seen) / sizeof(seen[0]);
    key |= 1; /* 0 marks a free slot */
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t at = (uint32_t)(key + i) & (slots - 1);
        if (seen[at].key == 0)
            seen[at].key = key;
        if (seen[at].key == key)
            return seen[at].count++;
    }
    return 0;
}

static struct pw_mpi_comm *lookup(pw_mpi_key handle)
{
    struct pw_mpi_comm *comm =
        atomic_load_explicit(&comms.buckets[bucket_of(handle)], memory_order_acquire);
    while (comm && comm->handle != handle)
        comm = comm->next;
    return comm;
}

/* Writes the world ranks of a group's members to `world`; -1 for processes of another
 * MPI_COMM_WORLD. */
static int translate(MPI_Group group, int size, int32_t *world)
{
    int *ranks = mmap(NULL, sizeof(int) * (size_t)size + 1, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ranks == MAP_FAILED)
        return -1;
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    int rc = pw_pmpi.Group_translate_ranks(group, size, ranks, comms.world_group, world);
    munmap(ranks, sizeof(int) * (size_t)size + 1);
    for (int i = 0; i < size && rc == MPI_SUCCESS; i++)
        world[i] = world[i] == MPI_UNDEFINED ? -1 : world[i];
    return rc == MPI_SUCCESS ? 0 : -1;
}

/* Returns the world ranks of the local or remote group in an array that is never freed; NULL on
 * failure. */
static int32_t *members_of(MPI_Comm handle, int size, int remote)
{
    MPI_Group group;
    int rc =
        remote ? pw_pmpi.Comm_remote_group(handle, &group) : pw_pmpi.Comm_group(handle, &group);
    if (rc != MPI_SUCCESS)
        return NULL;
    int32_t *world = pw_arena_take(sizeof(*world) * (size_t)(size ? size : 1));
    if (world && size && translate(group, size, world))
        world = NULL;
    pw_pmpi.Group_free(&group);
    return world;
}

static int is_identity(const int32_t *world, int size)
{
    for (int i = 0; i < size; i++)
        if (world[i] != i)
            return 0;
    return 1;
}

/* Returns the length of the run of equally spaced ranks that begins at `at`; a single rank is a run
 * of stride 1. */
static int next_run(const int32_t *world, int size, int at, int32_t *stride)
{
    *stride = at + 1 < size ? world[at + 1] - world[at] : 1;
    int end = at + 1;
    while (end < size && world[end] - world[end - 1] == *stride)
        end++;
    return end - at;
}

static void record_members(struct pw_thread *thread, uint32_t index, const int32_t *world, int size)
{
    for (int at = 0; at < size;) {
        uint64_t now = pw_probe_now();
        struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
        if (!record)
            return;
        *record = (struct pw_record){.type = PW_REC_COMM_MEMBERS, .start = now, .end = now};
        record->members.comm = index;
        for (int run = 0; run < PW_RUNS_PER_RECORD && at < size; run++) {
            int32_t stride;
            int count = next_run(world, size, at, &stride);
            record->members.runs[run].first = world[at];
            record->members.runs[run].stride = stride;
            record->members.runs[run].count = count;
            record->members.nruns = (uint32_t)run + 1;
            at += count;
        }
        pw_probe_commit(thread);
    }
}

/* Writes the definition. `op`: the operation that made the communicator, or PW_OP_None. */
static void record_def(struct pw_thread *thread, const struct pw_mpi_comm *comm, uint16_t op,
                       uint32_t name)
{
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){
        .type = PW_REC_COMM_DEF,
        .op = op,
        .start = now,
        .end = now,
        .def = {.uid = comm->uid,
                .comm = comm->index,
                .size = comm->size,
                .remote_size = comm->inter ? comm->remote_size : 0,
                .my_rank = comm->my_rank,
                .name = name,
                .handle = PW_MPI_NUMBER(comm->handle)},
    };
    pw_probe_commit(thread);
}

static uint64_t mix_group(uint64_t key, const int32_t *world, int size)
{
    key = mix(key ^ comms.salt, (uint64_t)size);
    for (int i = 0; i < size; i++)
        key = mix(key, (uint64_t)(uint32_t)world[i]);
    return key;
}

static uint64_t make_uid(uint64_t parent, const int32_t *world, int size)
{
    uint64_t key = mix_group(parent, world, size);
    return mix(key, occurrence(key));
}

/* Computes the uid of an intercommunicator. The group with the lower first member comes first; the
 * groups have no common member, so both sides choose the same. All members take part when an
 * intercommunicator is made, so all count the same number of earlier ones. */
static uint64_t make_inter_uid(const int32_t *local, int size, const int32_t *remote,
                               int remote_size)
{
    enum { SALT = 0x494e5452 };
    uint64_t key;
    if (remote_size == 0 || size == 0 || local[0] < remote[0])
        key = mix_group(mix_group(SALT, local, size), remote, remote_size);
    else
        key = mix_group(mix_group(SALT, remote, remote_size), local, size);
    return mix(key, occurrence(key));
}

static struct pw_mpi_comm *take_entry(void)
{
    struct pw_mpi_comm *comm = comms.unused;
    if (comm)
        comms.unused = comm->next;
    else
        comm = pw_arena_take(sizeof(*comm));
    return comm;
}

/* Fills all fields for which MPI functions can be asked; all these functions are local. */
static int describe(struct pw_mpi_comm *comm, pw_mpi_key handle, uint64_t parent_uid,
                    int32_t **local_world)
{
    *comm = (struct pw_mpi_comm){.handle = handle, .in_degree = -1, .out_degree = -1};
    if (pw_pmpi.Comm_size(handle, &comm->size) != MPI_SUCCESS ||
        pw_pmpi.Comm_rank(handle, &comm->my_rank) != MPI_SUCCESS)
        return -1;
    pw_pmpi.Comm_test_inter(handle, &comm->inter);
    int32_t *local = members_of(handle, comm->size, 0);
    if (!local)
        return -1;
    comm->remote_size = comm->size;
    comm->world = is_identity(local, comm->size) ? NULL : local;
    if (comm->inter) {
        pw_pmpi.Comm_remote_size(handle, &comm->remote_size);
        comm->world = members_of(handle, comm->remote_size, 1);
        if (!comm->world)
            return -1;
        comm->uid = make_inter_uid(local, comm->size, comm->world, comm->remote_size);
    } else {
        comm->uid = make_uid(parent_uid, local, comm->size);
    }
    *local_world = local;
    return 0;
}

/* Inserts the filled entry into the table. The caller has the lock. */
static void enter(struct pw_mpi_comm *comm)
{
    unsigned bucket = bucket_of(comm->handle);
    comm->index = comms.count++;
    comm->collectives = pw_probe_borrow_counter(comm->index);
    if (!comm->collectives)
        comm->collectives = &comm->own_collectives;
    atomic_store_explicit(comm->collectives, 0, memory_order_relaxed);
    comm->hash = 0;
    comm->order = pw_probe_borrow_order(comm->index);
    for (int level = 0; level < PW_CALLORDER_LEVELS; level++)
        atomic_store_explicit(&comm->order->hash[level], 0, memory_order_relaxed);
    atomic_store_explicit(&comm->order->state, PW_CALLORDER_COMPARED, memory_order_relaxed);
    comm->next = atomic_load_explicit(&comms.buckets[bucket], memory_order_relaxed);
    atomic_store_explicit(&comms.buckets[bucket], comm, memory_order_release);
}

static void release_handle(struct pw_mpi_comm *comm)
{
    if (!comm)
        return;
    comm->next = comms.unused;
    comms.unused = comm;
}

static void add(struct pw_thread *thread, pw_mpi_key handle, pw_mpi_key parent, uint16_t op)
{
    if (handle == pw_mpi_handles.comm_null)
        return;
    pw_mpi_lock(&comms.lock);
    const struct pw_mpi_comm *from = lookup(parent);
    struct pw_mpi_comm *comm = lookup(handle) ? NULL : take_entry();
    int32_t *local = NULL;
    if (comm && describe(comm, handle, from ? from->uid : 0, &local) == 0) {
        enter(comm);
    } else {
        release_handle(comm);
        comm = NULL;
    }
    pw_mpi_unlock(&comms.lock);
    if (comm) {
        record_def(thread, comm, op, 0);
        record_members(thread, comm->index, local, comm->size);
        if (comm->inter)
            record_members(thread, comm->index, comm->world, comm->remote_size);
    }
}

/* Registers a communicator that was made from `parent` (MPI_COMM_NULL: no parent). Null handles are
 * ignored. */
static void add_comm(struct pw_thread *thread, pw_mpi_key handle, pw_mpi_key parent)
{
    add(thread, handle, parent, PW_OP_None);
}

/* Does what pw_mpi_abi_begin() needs a communicator for, which was not there when the session
 * began. MPICH 4.0 crashes in it if no communicator of several ranks was made before. */
static void begin_first(pw_mpi_key handle)
{
    int size = 0;
    const MPI_Comm comm = (MPI_Comm)handle;
    if (comm == pw_mpi_handles.comm_null || pw_pmpi.Comm_size(comm, &size) != MPI_SUCCESS ||
        size < 2)
        return;
    comms.is_session_new = false;
    pw_mpi_abi_begin(comm);
}

void pw_mpi_comm_add_new(struct pw_thread *thread, pw_mpi_key handle, pw_mpi_key parent,
                         uint16_t op)
{
    pw_mpi_comm_forget(handle);
    add(thread, handle, parent, op);
    if (__builtin_expect(comms.is_session_new, 0))
        begin_first(handle);
}

/* Fills an entry from a group only. A salt makes the uids of windows and files differ from those of
 * communicators. */
static int describe_group(struct pw_mpi_comm *comm, pw_mpi_key handle, MPI_Group group,
                          int32_t **world)
{
    enum { SALT = 0x57494e46 };
    *comm = (struct pw_mpi_comm){.handle = handle, .in_degree = -1, .out_degree = -1};
    if (pw_pmpi.Group_size(group, &comm->size) != MPI_SUCCESS ||
        pw_pmpi.Group_rank(group, &comm->my_rank) != MPI_SUCCESS)
        return -1;
    int32_t *local = pw_arena_take(sizeof(*local) * (size_t)(comm->size ? comm->size : 1));
    if (!local || (comm->size && translate(group, comm->size, local)))
        return -1;
    comm->remote_size = comm->size;
    comm->world = is_identity(local, comm->size) ? NULL : local;
    comm->uid = make_uid(SALT, local, comm->size);
    *world = local;
    return 0;
}

void pw_mpi_group_add(struct pw_thread *thread, pw_mpi_key handle, MPI_Group group,
                      const char *name)
{
    pw_mpi_comm_forget(handle);
    pw_mpi_lock(&comms.lock);
    struct pw_mpi_comm *comm = take_entry();
    int32_t *world = NULL;
    if (comm && describe_group(comm, handle, group, &world) == 0) {
        enter(comm);
    } else {
        release_handle(comm);
        comm = NULL;
    }
    pw_mpi_unlock(&comms.lock);
    pw_pmpi.Group_free(&group);
    if (comm) {
        record_def(thread, comm, PW_OP_None, pw_probe_intern(thread, name));
        record_members(thread, comm->index, world, comm->size);
    }
}

struct pw_mpi_comm *pw_mpi_comm_known(pw_mpi_key handle)
{
    return lookup(handle);
}

/* Finds missing neighbours in MPI's order: for each dimension the lower one, then the upper one. */
static void find_absent(struct pw_mpi_comm *comm, int dims)
{
    for (int d = 0; d < dims && d < 32; d++) {
        int below = 0, above = 0;
        pw_pmpi.Cart_shift(comm->handle, d, 1, &below, &above);
        comm->absent |= (uint64_t)(below == MPI_PROC_NULL) << (2 * d);
        comm->absent |= (uint64_t)(above == MPI_PROC_NULL) << (2 * d + 1);
    }
}

void pw_mpi_comm_degrees(struct pw_mpi_comm *comm)
{
    int kind = MPI_UNDEFINED, weighted, dims = 0;
    comm->in_degree = comm->out_degree = 0;
    pw_pmpi.Topo_test(comm->handle, &kind);
    if (kind == MPI_CART && pw_pmpi.Cartdim_get(comm->handle, &dims) == MPI_SUCCESS) {
        comm->in_degree = comm->out_degree = 2 * dims;
        find_absent(comm, dims);
    } else if (kind == MPI_GRAPH &&
               pw_pmpi.Graph_neighbors_count(comm->handle, comm->my_rank, &dims) == MPI_SUCCESS)
        comm->in_degree = comm->out_degree = dims;
    else if (kind == MPI_DIST_GRAPH)
        pw_pmpi.Dist_graph_neighbors_count(comm->handle, &comm->in_degree, &comm->out_degree,
                                           &weighted);
}

int32_t pw_mpi_comm_world_rank(void)
{
    return comms.world_rank;
}

void pw_mpi_comm_init(struct pw_thread *thread)
{
    pw_pmpi.Comm_group(pw_mpi_handles.world, &comms.world_group);
    pw_pmpi.Comm_rank(pw_mpi_handles.world, &comms.world_rank);
    if (!thread) {
        comms.salt = (uint64_t)comms.world_rank + 1;
        return;
    }
    add_comm(thread, pw_mpi_handles.world, pw_mpi_handles.comm_null);
    pw_mpi_comm_name(thread, pw_mpi_handles.world, "MPI_COMM_WORLD");
    add_comm(thread, pw_mpi_handles.self, pw_mpi_handles.comm_null);
    pw_mpi_comm_name(thread, pw_mpi_handles.self, "MPI_COMM_SELF");
}

void pw_mpi_comm_init_session(struct pw_thread *thread, MPI_Group world)
{
    comms.world_group = world;
    comms.is_session_new = true;
    pw_pmpi.Group_rank(world, &comms.world_rank);
    if (!thread)
        comms.salt = (uint64_t)comms.world_rank + 1;
}

int64_t pw_mpi_comm_forget(pw_mpi_key handle)
{
    int64_t index = -1;
    pw_mpi_lock(&comms.lock);
    unsigned bucket = bucket_of(handle);
    struct pw_mpi_comm *before = NULL;
    struct pw_mpi_comm *comm = atomic_load_explicit(&comms.buckets[bucket], memory_order_relaxed);
    while (comm && comm->handle != handle) {
        before = comm;
        comm = comm->next;
    }
    if (comm) {
        if (before)
            before->next = comm->next;
        else
            atomic_store_explicit(&comms.buckets[bucket], comm->next, memory_order_release);
        index = comm->index;
        comm->handle = (pw_mpi_key)0;
        release_handle(comm);
        pw_mpi_last_forget();
    }
    pw_mpi_unlock(&comms.lock);
    return index;
}

void pw_mpi_comm_name(struct pw_thread *thread, pw_mpi_key handle, const char *text)
{
    struct pw_mpi_comm *comm = lookup(handle);
    if (comm)
        record_def(thread, comm, PW_OP_None, pw_probe_intern(thread, text));
}

void pw_mpi_last_refresh(void)
{
    /* Acquire, and read first: the value changes when a handle is freed later. */
    const uint64_t usual = atomic_load_explicit(&pw_gate->mpi_usual, memory_order_acquire);
    const uint32_t now = pw_mpi_epoch_now(), levels = (uint32_t)usual;
    if (pw_mpi_last.epoch != now)
        pw_mpi_last = (struct pw_mpi_last){.epoch = now};
    pw_mpi_last.blocking = levels > 0 ? usual : NEVER;
    pw_mpi_last.nonblocking = levels > 1 && !pw_mpi_threads ? usual : NEVER;
}

void pw_mpi_last_restamp(void)
{
    const uint64_t usual = atomic_load_explicit(&pw_gate->mpi_usual, memory_order_relaxed);
    const bool is_recording =
        atomic_load_explicit(&pw_gate->mpi[PW_MPI_ABI], memory_order_relaxed) > 0;
    if (is_recording && pw_mpi_last.blocking != usual &&
        !atomic_load_explicit(&pw_this_thread.call->op, memory_order_relaxed))
        pw_mpi_last_refresh();
}

struct pw_mpi_comm *pw_mpi_comm_find_slow(struct pw_thread *thread, pw_mpi_key handle)
{
    pw_mpi_last_refresh(); /* before the lookup, so that a handle freed after it is not cached */
    struct pw_mpi_comm *comm = lookup(handle);
    if (!comm) {
        add_comm(thread, handle, pw_mpi_handles.comm_null);
        comm = lookup(handle);
    }
    if (comm) {
        pw_mpi_last.handle = handle;
        pw_mpi_last.comm = comm;
    }
    return comm;
}
