/* What a wrapper does after the real call, by the CLASS of its row in core/mpi_functions.def: one
 * function per row of mpi_classes.def, and the shared pieces that they are made of. Called by
 * mpi_wrap.c (the slow function) and mpi_special.c. In-app, by the rules of mpi_call.h. */
#ifndef PW_MPI_CLASSES_H
#define PW_MPI_CLASSES_H

#include "collectors/mpi/mpi_call.h"
#include "collectors/mpi/mpi_request.h"

/* Open MPI gives every operation that is complete when its call returns (small sends, messages to
 * MPI_PROC_NULL) one and the same handle. Which of them a later Wait on it means cannot be told,
 * and does not matter: they ended with their own call. */
static inline bool pw_mpi_is_complete(const struct pw_mpi_call *c)
{
    return c->request == pw_mpi_handles.request_empty;
}

#define PW_MPI_CLASS(CLASS, fast, paused) void pw_mpi_after_##CLASS(struct pw_mpi_call *c, int rc);
#include "collectors/mpi/mpi_classes.def"
#undef PW_MPI_CLASS

/* Pieces that the families share. */
struct pw_mpi_request;

static inline uint8_t pw_mpi_error_flag(int rc)
{
    return rc == MPI_SUCCESS ? 0 : PW_FLAG_ERROR;
}

/* Fills a record of a call that has ended, with everything but what its family fills in. */
static inline void pw_mpi_base_record(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm,
                                      int rc, struct pw_record *record)
{
    pw_mpi_fill(c, comm ? comm->index : UINT32_MAX, record);
    record->end = c->end;
    record->flags |= pw_mpi_error_flag(rc);
}

/* The same in its place in the ring, to be finished with pw_mpi_commit() and nothing recorded until
 * then. NULL of a quiet call, or when the ring is full. */
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

/* A record of which nothing else is known. */
void pw_mpi_record(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm, int rc);

/* Copies one that was made elsewhere, unless the call is quiet. */
void pw_mpi_write(const struct pw_mpi_call *c, const struct pw_record *record);

/* The entry of the call's communicator: registered if need be when the call succeeded, else only
 * looked up, since an invalid handle must meet no further MPI call. */
struct pw_mpi_comm *pw_mpi_call_comm(const struct pw_mpi_call *c, int rc);

/* Where to put the record of a call that begins a request: into the table, to be completed later;
 * or, when the call failed or there is nothing to wait for, into `own`. `comm` is where the source
 * of a message is to be looked up. Filled with pw_mpi_base_record(). */
struct pw_record *pw_mpi_open_record(const struct pw_mpi_call *c, int rc,
                                     const struct pw_mpi_comm *entry, MPI_Comm comm,
                                     struct pw_record *own);

/* The entry of a persistent request, for its family to fill in; NULL when there is none. */
struct pw_mpi_request *pw_mpi_keep_record(struct pw_mpi_call *c, int rc,
                                          const struct pw_mpi_comm *comm);

/* Writes the record of the sending half of an MPI_Isendrecv, whose entry keeps that of the
 * receiving half; it ends at c->end. */
void pw_mpi_write_sent_part(struct pw_mpi_call *c, const struct pw_mpi_request *request);

/* Writes `record` if it is `own`: the other kind is written when its request completes. */
void pw_mpi_close_record(const struct pw_mpi_call *c, const struct pw_record *record,
                         const struct pw_record *own);

/* Enters the bytes of a file operation as read or written. */
void pw_mpi_io_bytes(struct pw_record *record, int64_t bytes);

/* The call's text argument, cut to `size` bytes. */
void pw_mpi_copy_text(const struct pw_mpi_call *c, char *text, size_t size);

/* A status as it was written. Open MPI's Fortran layer passes arrays of Fortran integers for
 * statuses, which are aligned as integers are. */
static inline MPI_Status pw_mpi_status_at(const MPI_Status *status)
{
    MPI_Status copy;
    __builtin_memcpy(&copy, (const char *)status, sizeof(copy));
    return copy;
}

/* Bytes that a status tells, 0 for none. Open MPI's own fields, here and below: asking by
 * MPI_Get_elements and MPI_Test_cancelled costs as much as all else that is recorded of a message.
 * Other MPI libraries never get here (pw_mpi_is_known()). */
static inline int64_t pw_mpi_status_bytes(const MPI_Status *status)
{
    return status ? (int64_t)pw_mpi_status_at(status)._ucount : 0;
}

/* What a completed receive's status tells: the sender, the tag and the bytes that really came. */
static inline void pw_mpi_read_status(struct pw_record *record, const struct pw_mpi_comm *comm,
                                      const MPI_Status *status)
{
    if (!status)
        return;
    const MPI_Status told = pw_mpi_status_at(status);
    if (__builtin_expect(told._cancelled, 0)) {
        record->flags |= PW_FLAG_CANCELLED;
        return;
    }
    record->comm.recv_bytes = (int64_t)told._ucount;
    record->comm.peer = comm ? pw_mpi_world_rank(comm, told.MPI_SOURCE) : -1;
    record->comm.tag = told.MPI_TAG;
}

/* Records a message that was begun: one that failed, or is under way still, or has no request of
 * its own. `peer` is a world rank, `bytes` what was sent. */
struct pw_mpi_message {
    const struct pw_mpi_comm *comm;
    int32_t peer, tag;
    int64_t bytes;
};
void pw_mpi_begun_message(const struct pw_mpi_call *c, int rc,
                          const struct pw_mpi_message *message);

#endif
