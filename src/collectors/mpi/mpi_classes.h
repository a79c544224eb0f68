/* What a wrapper does after the real call, by the CLASS of its row in mpi_api.def. */
#ifndef PW_MPI_CLASSES_H
#define PW_MPI_CLASSES_H

#include "collectors/mpi/mpi_call.h"

/* Writes one record for the call; `peer` is a world rank. */
PW_ALWAYS_INLINE void pw_mpi_record(struct pw_mpi_call *c, const struct pw_mpi_comm *comm,
                                    uint8_t flags, int32_t peer, int32_t tag, uint32_t seq,
                                    int64_t sent, int64_t received)
{
    struct pw_record *record = pw_ring_reserve(&c->thread->ring, c->end);
    if (__builtin_expect(!record, 0))
        return;
    record->start = c->start;
    record->end = c->end;
    record->type = PW_REC_COMM;
    record->flags = c->flags | flags;
    record->op = c->op;
    record->stack = 0;
    record->comm.comm = comm ? comm->index : UINT32_MAX;
    record->comm.peer = peer;
    record->comm.tag = tag;
    record->comm.seq = seq;
    record->comm.sent_bytes = sent;
    record->comm.recv_bytes = received;
    record->comm.request = 0;
    record->comm.begun = 0;
    pw_probe_commit(c->thread);
}

static inline uint8_t pw_mpi_error_flag(int rc)
{
    return rc == MPI_SUCCESS ? 0 : PW_FLAG_ERROR;
}

/* The out-of-line classes, by family: messages and probes, completion and collectives, and
 * communicators, windows and files. */
#define PW_MPI_CLASS(CLASS) void pw_mpi_after_##CLASS(struct pw_mpi_call *c, int rc);
PW_MPI_CLASS(COLL)
PW_MPI_CLASS(SEND)
PW_MPI_CLASS(RECV)
PW_MPI_CLASS(SENDRECV)
PW_MPI_CLASS(MRECV)
PW_MPI_CLASS(ISEND)
PW_MPI_CLASS(IRECV)
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

/* Pieces that the families share. */
struct pw_mpi_request;
void pw_mpi_write(struct pw_thread *thread, const struct pw_record *record);

/* The entry of the call's communicator: registered if need be when the call succeeded, else only
 * looked up, since an invalid handle must meet no further MPI call. */
struct pw_mpi_comm *pw_mpi_call_comm(const struct pw_mpi_call *c, int rc);

/* Fills a record of the call with everything but what its family fills in. */
void pw_mpi_base_record(const struct pw_mpi_call *c, const struct pw_mpi_comm *comm, int rc,
                        struct pw_record *record);

/* Where to put the record of a call that begins a request: into the table, to be completed later;
 * or, when the call failed or there is nothing to wait for, into `own`. `comm` is where the source
 * of a message is to be looked up. Filled with pw_mpi_base_record(). */
struct pw_record *pw_mpi_open_record(struct pw_mpi_call *c, int rc, const struct pw_mpi_comm *entry,
                                     MPI_Comm comm, struct pw_record *own);

/* The entry of a persistent request, for its family to fill in; NULL when there is none. */
struct pw_mpi_request *pw_mpi_keep_record(struct pw_mpi_call *c, int rc,
                                          const struct pw_mpi_comm *comm);

/* Writes the record of the sending half of an MPI_Isendrecv, whose entry keeps that of the
 * receiving half; it ends at c->end. */
void pw_mpi_write_sent_part(struct pw_mpi_call *c, const struct pw_mpi_request *request);

/* Writes `record` if it is `own`: the other kind is written when its request completes. */
void pw_mpi_close_record(struct pw_mpi_call *c, const struct pw_record *record,
                         const struct pw_record *own);

/* What a completed receive's status tells: the sender, the tag and the bytes that really came. */
void pw_mpi_read_status(struct pw_record *record, const struct pw_mpi_comm *comm,
                        const MPI_Status *status);

/* Enters the bytes of a file operation as read or written. */
void pw_mpi_io_bytes(struct pw_record *record, int64_t bytes);

/* The call's text argument as a C string, without Fortran's padding. */
void pw_mpi_copy_text(const struct pw_mpi_call *c, char *text, size_t size);

/* Bytes that a status tells, 0 for none. */
int64_t pw_mpi_status_bytes(const MPI_Status *status);

/* The collective that training and most solvers spend their time in stays inline: 36 ns a call
 * count where the call itself takes 13. */
PW_ALWAYS_INLINE void pw_mpi_after_ALLREDUCE(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_comm *comm =
        rc == MPI_SUCCESS ? pw_mpi_comm_find(c->thread, c->comm) : pw_mpi_comm_known(c->comm);
    uint32_t seq = comm ? comm->collectives++ : 0;
    int64_t bytes = rc == MPI_SUCCESS ? c->scount * pw_mpi_type_size(c->stype) : 0;
    pw_mpi_record(c, comm, pw_mpi_error_flag(rc), -1, 0, seq, bytes, bytes);
}

#endif
