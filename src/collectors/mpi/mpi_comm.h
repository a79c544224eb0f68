/* The communicators of the process: from a handle to its index in records, its uid, and the world
 * ranks of its members. Windows and files have entries here, too. Called by the wrappers. In-app,
 * by the rules of mpi_call.h; the tables are under the lock of mpi_lock.h.
 *
 * A communicator's uid is a hash of its parent's uid, its members' world ranks and how often this
 * pair was seen before. Every member computes the same uid from what it knows, so agreeing on it
 * takes no message. The uid of an intercommunicator is a hash of the world ranks of both groups, in
 * an order that both sides agree on, and of how often the two groups met before. */
#ifndef PW_MPI_COMM_H
#define PW_MPI_COMM_H

#include <stdint.h>

#include "collectors/mpi/mpi_real.h"
#include "rank/probe/probe.h"

struct pw_mpi_comm {
    MPI_Comm handle;
    struct pw_mpi_comm *next; /* same hash bucket, or the free list */
    uint32_t index;           /* of its PW_REC_COMM_DEF, in order of registration */
    int32_t size;             /* of the local group */
    int32_t remote_size;      /* peers: the remote group's size, or `size` */
    int32_t my_rank;
    uint64_t uid;
    int inter;
    int in_degree, out_degree; /* neighbours; -1 until a neighbourhood operation asks */
    uint64_t absent;           /* bit per neighbour that a grid's edge lacks: MPI_PROC_NULL */
    /* Sequence number of the next collective: in shared memory, where the collector sees how far
     * this rank has come, as long as there is room. */
    _Atomic uint32_t *collectives;
    _Atomic uint32_t own_collectives; /* where there is none */
    const int32_t
        *world; /* [remote_size] world rank of each peer, -1 unknown; NULL: rank == world rank */
};

/* This process's rank in MPI_COMM_WORLD. */
int32_t pw_mpi_comm_world_rank(void);

/* Registers MPI_COMM_WORLD and MPI_COMM_SELF. NULL, when the thread has no ring: communicators
 * become known as they are used then, and their collectives, of which some were not counted, are
 * kept from being taken for the other ranks'. */
void pw_mpi_comm_init(struct pw_thread *thread);

/* Registers a communicator made from `parent` (or MPI_COMM_NULL); NULL handles are ignored. */
void pw_mpi_comm_add(struct pw_thread *thread, MPI_Comm handle, MPI_Comm parent);

/* The same for a communicator that MPI has just made: an entry of that handle is of one that was
 * freed where it could not be seen, and MPI gives handles again. `op` is what made it. */
void pw_mpi_comm_add_new(struct pw_thread *thread, MPI_Comm handle, MPI_Comm parent, uint16_t op);

/* Registers a new window or file under its handle; the entry takes `group` and frees it. `name` may
 * be NULL. */
void pw_mpi_group_add(struct pw_thread *thread, void *handle, MPI_Group group, const char *name);

/* Forgets a handle that is about to be freed: its number may come back as another communicator. The
 * index that it had, or -1. */
int64_t pw_mpi_comm_forget(MPI_Comm handle);

/* Names it: a new PW_REC_COMM_DEF with the same index. */
void pw_mpi_comm_name(struct pw_thread *thread, MPI_Comm handle, const char *text);

/* pw_mpi_comm_find() without the thread's memory of the last one. */
struct pw_mpi_comm *pw_mpi_comm_find_slow(struct pw_thread *thread, MPI_Comm handle);

/* The last communicator and the last datatype that the thread used: true as long as the epoch is
 * the process's, which changes when a handle is freed, since its number may come back as another
 * one. */
extern _Atomic uint32_t pw_mpi_epoch __attribute__((visibility("hidden")));
extern _Thread_local struct pw_mpi_last {
    /* What pw_gate->mpi_usual was when the rest was found, if it lets fast functions record
     * collectives and messages (mpi_wrap.c); else a value that it never has. */
    uint64_t collectives, messages;
    uint32_t epoch;
    MPI_Comm handle; /* of `comm`, which is not NULL when this is not */
    struct pw_mpi_comm *comm;
    MPI_Datatype type;
    int64_t type_size;
} pw_mpi_last __attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline uint32_t pw_mpi_epoch_now(void)
{
    return atomic_load_explicit(&pw_mpi_epoch, memory_order_relaxed);
}

/* To be called when a handle is freed: no thread trusts what it remembers. */
static inline void pw_mpi_last_forget(void)
{
    atomic_fetch_add(&pw_mpi_epoch, 1);
    atomic_fetch_add(&pw_gate->mpi_usual, PW_MPI_GIVEN_BACK);
}

/* Drops what the calling thread remembers if it is of an earlier epoch. */
void pw_mpi_last_refresh(void);

/* The same where recording went on since, at this level or another: what the thread remembers may
 * have been found under another gate. Not while the thread is in a call, which may need it still.
 */
void pw_mpi_last_restamp(void);

/* The entry of `handle`; one that was never registered is registered now. NULL when memory is
 * short. */
static inline struct pw_mpi_comm *pw_mpi_comm_find(struct pw_thread *thread, MPI_Comm handle)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    if (__builtin_expect(last->handle == handle && last->epoch == pw_mpi_epoch_now(), 1))
        return last->comm;
    return pw_mpi_comm_find_slow(thread, handle);
}

/* The entry of a handle if there is one: for handles that may be invalid, and those of windows and
 * files. */
struct pw_mpi_comm *pw_mpi_comm_known(MPI_Comm handle);

/* Fills in_degree and out_degree from the topology; 0 neighbours where there is none. */
void pw_mpi_comm_degrees(struct pw_mpi_comm *comm);

/* World rank of `rank` of the communicator's peers; -1 for MPI_PROC_NULL, wildcards and strangers.
 */
static inline int32_t pw_mpi_world_rank(const struct pw_mpi_comm *comm, int rank)
{
    if (rank < 0 || rank >= comm->remote_size)
        return -1;
    return comm->world ? comm->world[rank] : rank;
}

#endif
