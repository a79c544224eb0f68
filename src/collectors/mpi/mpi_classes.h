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

/* The slow classes are functions in mpi_classes.c. */
void pw_mpi_after_COLL(struct pw_mpi_call *c, int rc);
void pw_mpi_after_SEND(struct pw_mpi_call *c, int rc);
void pw_mpi_after_RECV(struct pw_mpi_call *c, int rc);
void pw_mpi_after_SENDRECV(struct pw_mpi_call *c, int rc);
void pw_mpi_after_ISEND(struct pw_mpi_call *c, int rc);
void pw_mpi_after_IRECV(struct pw_mpi_call *c, int rc);
void pw_mpi_after_ICOLL(struct pw_mpi_call *c, int rc);
void pw_mpi_after_WAIT_ONE(struct pw_mpi_call *c, int rc);
void pw_mpi_after_WAIT_ALL(struct pw_mpi_call *c, int rc);
void pw_mpi_after_WAIT_ANY(struct pw_mpi_call *c, int rc);
void pw_mpi_after_WAIT_SOME(struct pw_mpi_call *c, int rc);
void pw_mpi_after_REQUEST_FREE(struct pw_mpi_call *c, int rc);
void pw_mpi_after_NEWCOMM(struct pw_mpi_call *c, int rc);
void pw_mpi_after_INEWCOMM(struct pw_mpi_call *c, int rc);
void pw_mpi_after_NAMECOMM(struct pw_mpi_call *c, int rc);
void pw_mpi_after_FREECOMM(struct pw_mpi_call *c, int rc);
void pw_mpi_after_FREETYPE(struct pw_mpi_call *c, int rc);

/* The collective that training and most solvers spend their time in stays inline: 36 ns a call
 * count where the call itself takes 13. */
PW_ALWAYS_INLINE void pw_mpi_after_ALLREDUCE(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_comm *comm = pw_mpi_comm_find(c->thread, c->comm);
    uint32_t seq = comm ? comm->collectives++ : 0;
    int64_t bytes = rc == MPI_SUCCESS ? c->scount * pw_mpi_type_size(c->stype) : 0;
    pw_mpi_record(c, comm, pw_mpi_error_flag(rc), -1, 0, seq, bytes, bytes);
}

/* Before the call: only freeing must be noted while the handle still means what it did. */
#define pw_mpi_before_ALLREDUCE(c)
#define pw_mpi_before_COLL(c)
#define pw_mpi_before_SEND(c)
#define pw_mpi_before_RECV(c)
#define pw_mpi_before_SENDRECV(c)
#define pw_mpi_before_ISEND(c)
#define pw_mpi_before_IRECV(c)
#define pw_mpi_before_ICOLL(c)
#define pw_mpi_before_WAIT_ONE(c)
#define pw_mpi_before_WAIT_ALL(c)
#define pw_mpi_before_WAIT_ANY(c)
#define pw_mpi_before_WAIT_SOME(c)
#define pw_mpi_before_REQUEST_FREE(c)
#define pw_mpi_before_NEWCOMM(c)
#define pw_mpi_before_INEWCOMM(c)
#define pw_mpi_before_NAMECOMM(c)
#define pw_mpi_before_FREETYPE(c)
void pw_mpi_before_FREECOMM(struct pw_mpi_call *c);

#endif
