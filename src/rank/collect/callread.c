/* Reads the collectives of a communicator from a journal; see callread.h. */
#include "rank/collect/callread.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/ops.h"
#include "core/sort.h"
#include "rank/journal/journal.h"

enum { MOST_CALLS = 1 << 21 };

struct reading {
    const struct pw_callread_wanted *wanted;
    struct pw_ordered_call *calls;
    size_t n, capacity;
    int64_t index; /* of the communicator in the process; -1 while it is not defined */
    int type;      /* of the records of its calls: enum pw_record_type */
    uint64_t process;
    int err;
};

/* Whether the creation of a communicator is added to its parent's order (mpi_classes.c). */
static int is_creation(const struct pw_record *record)
{
    switch (record->op) {
    case PW_OP_Comm_create_group:
    case PW_OP_Comm_free:
    case PW_OP_Comm_disconnect:
        return 0;
    default:
        return pw_op_info(record->op)->cls == PW_CLASS_COMM && !(record->flags & PW_FLAG_ERROR) &&
               record->comm.comm != UINT32_MAX;
    }
}

static void keep(struct reading *r, const struct pw_ordered_call *call)
{
    if (r->n == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 256;
        struct pw_ordered_call *calls =
            capacity > MOST_CALLS ? NULL : realloc(r->calls, capacity * sizeof(*calls));
        if (!calls) {
            r->err = -ENOMEM;
            return;
        }
        r->calls = calls;
        r->capacity = capacity;
    }
    r->calls[r->n++] = *call;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void keep_mpi(struct reading *r, const struct pw_record *record, int64_t seq)
{
    const struct pw_ordered_call call = {
        .start = record->start,
        .seq = seq,
        .bytes = larger(record->comm.sent_bytes, record->comm.recv_bytes),
        .root = record->comm.peer,
        .signature = seq < 0 ? 0 : record->comm.signature,
        .op = record->op,
    };
    keep(r, &call);
}

static void keep_of_group(struct reading *r, const struct pw_record *record)
{
    const struct pw_ordered_call call = {
        .start = record->start,
        .seq = record->torch_call.seq,
        .bytes = larger(record->torch_call.sent_bytes, record->torch_call.recv_bytes),
        .root = record->torch_call.peer,
        .signature = pw_callread_sign(record),
        .op = record->op,
    };
    keep(r, &call);
}

static int64_t block_bytes(const struct pw_record *record)
{
    const int64_t count = record->nccl_call.count, element = record->nccl_call.element_bytes;
    return count < 0 || count > INT64_MAX >> 8 || element > UINT8_MAX ? -1 : count * element;
}

static void keep_nccl(struct reading *r, const struct pw_record *record)
{
    const struct pw_ordered_call call = {
        .start = record->start,
        .seq = (int64_t)record->nccl_call.seq - 1,
        .bytes = block_bytes(record),
        .root = record->nccl_call.peer,
        .signature = pw_callread_sign(record),
        .op = record->op,
    };
    keep(r, &call);
}

uint32_t pw_callread_sign(const struct pw_record *record)
{
    if (record->type == PW_REC_NCCL_CALL)
        return pw_callorder_sign_block(record->op, record->nccl_call.peer, block_bytes(record));
    return pw_callorder_sign(record->op, record->torch_call.peer, record->torch_call.sent_bytes,
                             record->torch_call.recv_bytes, record->type == PW_REC_TORCH_CALL);
}

static bool is_wanted(const struct reading *r, int64_t seq)
{
    return seq >= r->wanted->first && seq <= r->wanted->last;
}

static void define(struct reading *r, uint64_t uid, uint32_t index, int type)
{
    if (uid != r->wanted->comm_uid)
        return;
    r->index = index;
    r->type = type;
}

static void take(struct reading *r, const struct pw_record *record)
{
    switch (record->type) {
    case PW_REC_THREAD:
        if (record->thread.process == r->process)
            break;
        r->process = record->thread.process; /* a new program has new communicators */
        r->index = -1;
        r->type = PW_REC_NONE;
        r->n = 0;
        break;
    case PW_REC_COMM_DEF:
        define(r, record->def.uid, record->def.comm, PW_REC_COMM);
        break;
    case PW_REC_TORCH_GROUP:
        define(r, record->def.uid, record->def.comm, PW_REC_TORCH_CALL);
        break;
    case PW_REC_MCCL_GROUP:
        define(r, record->def.uid, record->def.comm, PW_REC_MCCL_CALL);
        break;
    case PW_REC_NCCL_COMM:
        if (!(record->flags & PW_NCCL_COMM_CLOSED))
            define(r, record->nccl_comm.uid, record->nccl_comm.comm, PW_REC_NCCL_CALL);
        break;
    case PW_REC_NCCL_CALL:
        if (r->type == record->type && record->nccl_call.comm == r->index &&
            record->nccl_call.seq && is_wanted(r, (int64_t)record->nccl_call.seq - 1))
            keep_nccl(r, record);
        break;
    case PW_REC_COMM:
        if (r->type != PW_REC_COMM || record->comm.comm != r->index)
            break;
        if (pw_op_info(record->op)->cls != PW_CLASS_COLL) {
            if (is_creation(record))
                keep_mpi(r, record, -1);
        } else if (is_wanted(r, record->comm.seq)) {
            keep_mpi(r, record, record->comm.seq);
        }
        break;
    case PW_REC_TORCH_CALL:
    case PW_REC_MCCL_CALL:
        if (r->type == record->type && record->torch_call.comm == r->index &&
            pw_op_info(record->op)->cls == PW_CLASS_COLL && is_wanted(r, record->torch_call.seq))
            keep_of_group(r, record);
        break;
    default:
        break;
    }
}

static int by_start(const void *a, const void *b)
{
    const struct pw_ordered_call *x = a, *y = b;
    PW_COMPARE(x->start, y->start);
    return 0;
}

/* Removes creations before the first wanted collective, of which it is not known how many are
 * wanted. */
static void trim(struct reading *r)
{
    size_t first = 0, kept = 0;
    while (first < r->n && r->calls[first].seq < 0 && r->wanted->first > 0)
        first++;
    for (size_t i = first; i < r->n; i++)
        r->calls[kept++] = r->calls[i];
    r->n = kept;
}

int pw_callread(const char *journal, const struct pw_callread_wanted *wanted,
                struct pw_ordered_call **calls, size_t *n)
{
    struct reading r = {.wanted = wanted, .index = -1, .type = PW_REC_NONE};
    struct pw_journal_reader *reader;
    struct pw_journal_block block;
    int err = pw_journal_open(journal, &reader);
    if (err)
        return err;
    while (!r.err && pw_journal_next(reader, &block))
        for (uint32_t i = 0; block.kind == PW_JOURNAL_RECORDS && i < block.records.n; i++)
            take(&r, &block.records.records[i]);
    pw_journal_reader_close(reader);
    if (r.err) {
        free(r.calls);
        return r.err;
    }
    pw_sort(r.calls, r.n, sizeof(*r.calls), by_start);
    trim(&r);
    *calls = r.calls;
    *n = r.n;
    return 0;
}
