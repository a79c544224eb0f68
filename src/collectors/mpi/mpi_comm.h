/* The table of the process's communicators. It maps a handle to its index in records, its uid, and
 * the world ranks of its members. Windows and files are in the table, too. Called by the wrappers.
 * In-app, by the rules of mpi_call.h; the lock of mpi_lock.h protects the table.
 *
 * A communicator's uid is a hash of three values: its parent's uid, its members' world ranks, and
 * how many communicators with the same parent and members were made before. Every member knows
 * these values and computes the same uid, so no message is needed. The uid of an intercommunicator
 * is a hash of the world ranks of both groups, with the same group first on both sides, and of how
 * many intercommunicators of the two groups were made before. */
#ifndef PW_MPI_COMM_H
#define PW_MPI_COMM_H

#include <stdint.h>

#include "collectors/mpi/mpi_library.h"
#include "rank/probe/probe.h"

struct pw_mpi_comm {
    pw_mpi_key handle;
    struct pw_mpi_comm *next; /* same hash bucket, or the free list */
    uint32_t index;           /* number of its PW_REC_COMM_DEF, in order of registration */
    int32_t size;             /* of the local group */
    int32_t remote_size;      /* number of peers: the remote group's size, or `size` if not inter */
    int32_t my_rank;
    uint64_t uid;
    int inter;
    int in_degree, out_degree; /* neighbours; -1 until pw_mpi_comm_degrees() was called */
    uint64_t absent; /* a bit for each neighbour that is MPI_PROC_NULL, at the edge of a grid */
    /* Sequence number of the next collective. It is in shared memory, so that the collector can
     * read this rank's progress; when there is no room, it is in own_collectives. */
    _Atomic uint32_t *collectives;
    _Atomic uint32_t own_collectives;
    /* The hash of the collectives so far, and of the communicators that were made from this one
     * (core/callorder.h); and where it is shown. */
    uint64_t hash;
    struct pw_comm_order *order;
    /* [remote_size] world rank of each peer, -1: unknown. NULL: ranks equal world ranks. */
    const int32_t *world;
};

/* Adds to the hash that a communicator or window was made from this one by `op`. */
static inline void pw_mpi_comm_note_child(struct pw_mpi_comm *comm, uint16_t op)
{
    comm->hash = comm->hash * PW_CALLORDER_FACTOR + op;
}

/* Says that the order on this communicator cannot be compared from now on. */
static inline void pw_mpi_comm_lose_order(struct pw_mpi_comm *comm, enum pw_callorder_state why)
{
    atomic_store_explicit(&comm->order->state, why, memory_order_relaxed);
}

/* This process's rank in MPI_COMM_WORLD. */
int32_t pw_mpi_comm_world_rank(void);

/* Registers MPI_COMM_WORLD and MPI_COMM_SELF. `thread` is NULL when the thread has no ring. Then
 * communicators are registered later, when they are first used. Some of their collectives were not
 * counted, so their uids are made different from those on other ranks: otherwise collectives with
 * wrong sequence numbers would be matched. */
void pw_mpi_comm_init(struct pw_thread *thread);

/* The same in a program of sessions, which has neither communicator: `world` is the group of all
 * ranks. */
void pw_mpi_comm_init_session(struct pw_thread *thread, MPI_Group world);

/* Registers a communicator that MPI has just made. An old entry with the same handle is removed
 * first: MPI reuses handles, and that communicator was freed by a call that the probe did not see.
 * `op` is the operation that made the communicator. */
void pw_mpi_comm_add_new(struct pw_thread *thread, pw_mpi_key handle, pw_mpi_key parent,
                         uint16_t op);

/* Registers a new window or file. The function frees `group`. `name` may be NULL. */
void pw_mpi_group_add(struct pw_thread *thread, pw_mpi_key handle, MPI_Group group,
                      const char *name);

/* Removes the entry of a handle that is about to be freed, because MPI may reuse the handle for
 * another communicator. Returns the entry's index, or -1. */
int64_t pw_mpi_comm_forget(pw_mpi_key handle);

/* Gives the communicator a name: writes another PW_REC_COMM_DEF with the same index. */
void pw_mpi_comm_name(struct pw_thread *thread, pw_mpi_key handle, const char *text);

/* pw_mpi_comm_find() for a communicator that is not the last one that the thread used. */
struct pw_mpi_comm *pw_mpi_comm_find_slow(struct pw_thread *thread, pw_mpi_key handle);

/* A cache of the last communicator and the last datatype that the thread used. It is valid while
 * its epoch equals the process's epoch, pw_mpi_epoch. The process's epoch changes whenever a handle
 * is freed, because MPI may reuse that handle. */
extern _Atomic uint32_t pw_mpi_epoch __attribute__((visibility("hidden")));
extern _Thread_local struct pw_mpi_last {
    /* The value of pw_gate->mpi_usual when the cache was filled, if fast functions (mpi_wrap.c) may
     * record blocking or nonblocking calls at that value; else a value that mpi_usual never has. */
    uint64_t blocking, nonblocking;
    uint32_t epoch;
    pw_mpi_key handle; /* of `comm`; if it is not NULL, `comm` is not NULL either */
    struct pw_mpi_comm *comm;
    MPI_Datatype type;
    int64_t type_size;
} pw_mpi_last __attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline uint32_t pw_mpi_epoch_now(void)
{
    return atomic_load_explicit(&pw_mpi_epoch, memory_order_relaxed);
}

/* To be called when a handle is freed: makes the caches of all threads invalid. */
static inline void pw_mpi_last_forget(void)
{
    atomic_fetch_add(&pw_mpi_epoch, 1);
    atomic_fetch_add(&pw_gate->mpi_usual, PW_MPI_GIVEN_BACK);
}

/* Empties the calling thread's cache if its epoch is over. */
void pw_mpi_last_refresh(void);

/* Brings the calling thread's cache up to date after recording has started again or its level has
 * changed, because `blocking` and `nonblocking` belong to an earlier gate. Does nothing while the
 * thread is in a call, which may still use the cache. */
void pw_mpi_last_restamp(void);

/* Returns the entry of `handle`, and registers the communicator if it has none. NULL when memory is
 * short. */
static inline struct pw_mpi_comm *pw_mpi_comm_find(struct pw_thread *thread, pw_mpi_key handle)
{
    const struct pw_mpi_last *last = &pw_mpi_last;
    if (__builtin_expect(last->handle == handle && last->epoch == pw_mpi_epoch_now(), 1))
        return last->comm;
    return pw_mpi_comm_find_slow(thread, handle);
}

/* Returns the entry of `handle`, or NULL if it has none. For handles that may be invalid, and for
 * windows and files. */
struct pw_mpi_comm *pw_mpi_comm_known(pw_mpi_key handle);

/* Sets in_degree and out_degree from the communicator's topology; 0 if it has no topology. */
void pw_mpi_comm_degrees(struct pw_mpi_comm *comm);

/* World rank of the communicator's peer `rank`; -1 for MPI_PROC_NULL, wildcards, and peers whose
 * world rank is not known. */
static inline int32_t pw_mpi_world_rank(const struct pw_mpi_comm *comm, int rank)
{
    if (rank < 0 || rank >= comm->remote_size)
        return -1;
    return comm->world ? comm->world[rank] : rank;
}

#endif
