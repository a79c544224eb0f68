/* What a wrapper does after the real call, by the CLASS of its row in mpi_api.def. */
#ifndef PW_MPI_CLASSES_H
#define PW_MPI_CLASSES_H

#include "collectors/mpi/mpi_call.h"
#include "collectors/mpi/mpi_request.h"

/* Fills every byte of a record of the call. `peer` is a world rank. */
PW_ALWAYS_INLINE void pw_mpi_fill(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm,
                                  uint8_t flags, int32_t peer, int32_t tag, uint32_t seq,
                                  int64_t sent, int64_t received, struct pw_record *record)
{
    record->start = c->start;
    record->end = c->end;
    record->type = PW_REC_COMM;
    record->flags = c->flags | flags;
    record->op = c->op;
    record->stack = c->stack;
    record->comm.comm = comm ? comm->index : UINT32_MAX;
    record->comm.peer = peer;
    record->comm.tag = tag;
    record->comm.seq = seq;
    record->comm.sent_bytes = sent;
    record->comm.recv_bytes = received;
    record->comm.request = 0;
    record->comm.begun = 0;
}

/* Writes one record for the call, unless that is a quiet one. */
PW_ALWAYS_INLINE void pw_mpi_record(struct pw_mpi_call *c, const struct pw_mpi_comm *comm,
                                    uint8_t flags, int32_t peer, int32_t tag, uint32_t seq,
                                    int64_t sent, int64_t received)
{
    if (c->quiet)
        return;
    struct pw_record *record = pw_ring_reserve(&c->thread->ring, c->end, PW_LOST_COMMUNICATION);
    if (__builtin_expect(!record, 0))
        return;
    pw_mpi_fill(c, comm, flags, peer, tag, seq, sent, received, record);
    pw_probe_commit_record(c->thread, record);
}

static inline uint8_t pw_mpi_error_flag(int rc)
{
    return rc == MPI_SUCCESS ? 0 : PW_FLAG_ERROR;
}

/* Open MPI gives every operation that is complete when its call returns (small sends, messages to
 * nobody) one and the same handle. Which of them a later Wait on it means cannot be told, and does
 * not matter: they ended with their own call. */
static inline bool pw_mpi_is_complete(const struct pw_mpi_call *c)
{
    return c->request == pw_mpi_handles.request_empty;
}

/* The out-of-line classes, by family: messages and probes, completion and collectives, and
 * communicators, windows and files. */
#define PW_MPI_CLASS(CLASS) void pw_mpi_after_##CLASS(struct pw_mpi_call *c, int rc);
PW_MPI_CLASS(COLL)
PW_MPI_CLASS(SEND)
PW_MPI_CLASS(RECV)
PW_MPI_CLASS(SENDRECV)
PW_MPI_CLASS(ISEND)
PW_MPI_CLASS(IRECV)
PW_MPI_CLASS(MRECV)
PW_MPI_CLASS(IMRECV)
PW_MPI_CLASS(ICOLL)
PW_MPI_CLASS(PERSISTENT_SEND)
PW_MPI_CLASS(PERSISTENT_RECV)
PW_MPI_CLASS(START)
PW_MPI_CLASS(PROBE)
PW_MPI_CLASS(MPROBE)
PW_MPI_CLASS(WAIT_ONE)
PW_MPI_CLASS(WAIT_ALL)
PW_MPI_CLASS(WAIT_ANY)
PW_MPI_CLASS(WAIT_SOME)
PW_MPI_CLASS(REQUEST_FREE)
PW_MPI_CLASS(NEWCOMM)
PW_MPI_CLASS(INEWCOMM)
PW_MPI_CLASS(FREEGROUP)
PW_MPI_CLASS(NAMEGROUP)
PW_MPI_CLASS(FREETYPE)
PW_MPI_CLASS(LOCAL)
PW_MPI_CLASS(LOCAL_COMM)
PW_MPI_CLASS(RMA)
PW_MPI_CLASS(IRMA)
PW_MPI_CLASS(WIN_FENCE)
PW_MPI_CLASS(WIN_SYNC)
PW_MPI_CLASS(WIN_TARGET)
PW_MPI_CLASS(NEWWIN)
PW_MPI_CLASS(NEWFILE)
PW_MPI_CLASS(IO)
PW_MPI_CLASS(IIO)
PW_MPI_CLASS(IO_OTHER)
/* Of MPI-4.0. */
PW_MPI_CLASS(COLL_C)
PW_MPI_CLASS(ICOLL_C)
PW_MPI_CLASS(COLL_INIT)
PW_MPI_CLASS(COLL_INIT_C)
PW_MPI_CLASS(ISENDRECV)
PW_MPI_CLASS(PARTITIONED_SEND)
PW_MPI_CLASS(PARTITIONED_RECV)
PW_MPI_CLASS(NEWCOMM_ALONE)
#undef PW_MPI_CLASS

/* Whether the operation frees a handle, which is forgotten even where the call is not recorded, as
 * in an attribute's delete function: MPI gives handles again. A constant in every wrapper. */
#define pw_mpi_gives_back(op)                                                              \
    ((op) == PW_OP_Comm_free || (op) == PW_OP_Comm_disconnect || (op) == PW_OP_Win_free || \
     (op) == PW_OP_File_close)

/* Pieces that the families share. */
struct pw_mpi_request;
void pw_mpi_write(const struct pw_mpi_call *c, const struct pw_record *record);

/* The entry of the call's communicator: registered if need be when the call succeeded, else only
 * looked up, since an invalid handle must meet no further MPI call. */
struct pw_mpi_comm *pw_mpi_call_comm(const struct pw_mpi_call *c, int rc);

/* Fills a record of the call with everything but what its family fills in. */
void pw_mpi_base_record(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm, int rc,
                        struct pw_record *record);

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

/* A message that was begun on `comm` and failed, or is under way still, or has no request of its
 * own; `peer` is a world rank, `bytes` what was sent. */
void pw_mpi_begun_message(const struct pw_mpi_call *c, int rc, const struct pw_mpi_comm *comm,
                          int32_t peer, int32_t tag, int64_t bytes);

#endif
