/* What a wrapper does after the real call, by the CLASS of its row in core/mpi_functions.def: one
 * function per row of mpi_class_table.def, and the functions that they share. Called by mpi_wrap.c
 * (the slow function) and mpi_special.c. In-app, by the rules of mpi_call.h. */
#ifndef PW_MPI_CLASSES_H
#define PW_MPI_CLASSES_H

#include "collectors/mpi/mpi_call.h"
#include "collectors/mpi/mpi_request.h"

/* Whether the operation was complete when its call returned (small sends, messages to
 * MPI_PROC_NULL). MPI libraries give all such operations the same handle, or one of a few. So a
 * later Wait cannot be assigned to one of them, and need not be: they ended with their own call. */
static inline bool pw_mpi_is_complete(const struct pw_mpi_call *c)
{
    return pw_mpi_was_complete(c->request, pw_mpi_handles.request_empty);
}

#define PW_MPI_CLASS(CLASS, fast, paused) void pw_mpi_after_##CLASS(struct pw_mpi_call *c, int rc);
#include "collectors/mpi/mpi_class_table.def"
#undef PW_MPI_CLASS

/* ---- functions that the classes share ---- */
struct pw_mpi_request;

static inline uint8_t pw_mpi_error_flag(int rc)
{
    return rc == MPI_SUCCESS ? 0 : PW_FLAG_ERROR;
}

/* Fills the fields of a record that are the same for all classes, after the call has ended. */
static inline void pw_mpi_base_record(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm,
                                      int rc, struct pw_record *record)
{
    pw_mpi_fill(c, pw_mpi_error_flag(rc), comm ? comm->index : UINT32_MAX, record);
    record->end = c->end;
}

/* Reserves the record in the ring and fills it with pw_mpi_base_record(). Finish it with
 * pw_mpi_commit(), and record nothing else before. Returns NULL for a quiet call, or when the ring
 * is full. */
static inline struct pw_record *pw_mpi_place(const struct pw_mpi_call *c,
                                             const struct pw_mpi_comm *comm, int rc)
{
    struct pw_record *record =
        c->quiet ? NULL : pw_ring_reserve(&c->thread->ring, c->end, PW_LOST_COMMUNICATION);
    if (__builtin_expect(record != NULL, 1))
        pw_mpi_base_record(c, comm, rc, record);
    return record;
}

static inline void pw_mpi_commit(const struct pw_mpi_call *c, const struct pw_record *record)
{
    pw_probe_commit_record(c->thread, record);
}

/* Writes a record that has only the fields of pw_mpi_base_record(). */
void pw_mpi_record(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm, int rc);

/* Copies a status byte by byte: Open MPI's Fortran layer passes arrays of Fortran integers, which
 * may not be aligned for an MPI_Status. */
static inline MPI_Status pw_mpi_status_at(const MPI_Status *status)
{
    MPI_Status copy;
    __builtin_memcpy(&copy, (const char *)status, sizeof(copy));
    return copy;
}

/* Returns the received bytes of a status; 0 for a cancelled message. Reads the library's internal
 * fields, here and below: MPI_Get_elements and MPI_Test_cancelled would take as long as all other
 * work for a message. Not used with other MPI libraries (pw_mpi_is_known()). */
static inline int64_t pw_mpi_status_bytes(const MPI_Status *status)
{
    if (!status)
        return 0;
    const MPI_Status told = pw_mpi_status_at(status);
    return pw_mpi_status_count(&told);
}

/* Sets sender, tag and received bytes of a completed receive from its status. */
static inline void pw_mpi_read_status(struct pw_record *record, const struct pw_mpi_comm *comm,
                                      const MPI_Status *status)
{
    if (!status)
        return;
    const MPI_Status told = pw_mpi_status_at(status);
    if (__builtin_expect(pw_mpi_status_cancelled(&told), 0)) {
        record->flags |= PW_FLAG_CANCELLED;
        return;
    }
    record->comm.recv_bytes = pw_mpi_status_count(&told);
    record->comm.peer = comm ? pw_mpi_world_rank(comm, told.MPI_SOURCE) : -1;
    record->comm.tag = told.MPI_TAG;
}

/* Records a message after the call that began it: the call failed, the message is not complete yet,
 * or it has no request of its own. `peer` is a world rank, `bytes` the bytes sent. */
struct pw_mpi_message {
    const struct pw_mpi_comm *comm;
    int32_t peer, tag;
    int64_t bytes;
};
void pw_mpi_begun_message(const struct pw_mpi_call *c, int rc,
                          const struct pw_mpi_message *message);

#endif
