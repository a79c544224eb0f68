/* A spin lock of the probe for tables that several threads may change: taken only when the
 * application asked for MPI_THREAD_MULTIPLE, never held across a call out of the probe. In-app;
 * called by the tables of communicators and requests. */
#ifndef PW_MPI_LOCK_H
#define PW_MPI_LOCK_H

#include <sched.h>
#include <stdatomic.h>

extern int pw_mpi_threads
    __attribute__((visibility("hidden"))); /* 1 when several threads may be in MPI at once */

static inline void pw_mpi_lock(atomic_flag *lock)
{
    if (__builtin_expect(!pw_mpi_threads, 1))
        return;
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
        sched_yield();
}

static inline void pw_mpi_unlock(atomic_flag *lock)
{
    if (__builtin_expect(pw_mpi_threads, 0))
        atomic_flag_clear_explicit(lock, memory_order_release);
}

#endif
