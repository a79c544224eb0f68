/* Makes operations from NCCL's NVTX ranges; see nccl_nvtx.h.
 *
 * The plugin or a wrapper may report the same operation. The plugin reports that it is loaded
 * before the first operation. A wrapper reports its call right after the range inside it has ended,
 * on the same thread. So ranges wait in a short queue before they become operations. */
#include "collectors/nccl/nccl_nvtx.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/nccl/nccl_func.h"
#include "collectors/nccl/nccl_ops.h"
#include "core/ops.h"

enum { WAITING = 128, PAYLOADS = 256, COMMS = 256 };

/* Fields of NCCL's NVTX payloads. */
enum field { COMM, BYTES, ROOT, PEER, RANK, RANKS, FIELDS };
static const char *const field_names[FIELDS] = {
    [COMM] = "NCCL communicator ID",
    [BYTES] = "Message size [bytes]",
    [ROOT] = "Root",
    [PEER] = "Peer rank",
    [RANK] = "Rank",
    [RANKS] = "No. of ranks",
};

struct payload {
    int64_t id; /* 0: none */
    uint32_t has;
    int64_t values[FIELDS];
};

struct call {
    int func; /* -1: another source has reported the operation */
    uint64_t uid;
    int64_t bytes;
    int32_t peer; /* or root; -1 */
    struct pw_origin origin;
    uint32_t stack;
};

struct comm {
    struct pw_row_comms row;
    int32_t file_row;
    bool is_several; /* several ranks in the process: the rank of a call is not known */
};

struct pw_nccl_nvtx {
    struct pw_rankfile *file;
    struct pw_nccl_ops *ops; /* NULL before the first operation */
    bool is_refused;
    uint64_t last_id;
    int64_t operations;
    struct payload payloads[PAYLOADS];
    struct call waiting[WAITING];
    size_t first, n;
    struct comm comms[COMMS];
    size_t base, ncomms; /* first communicator of this process; number of all */
};

struct pw_nccl_nvtx *pw_nccl_nvtx_create(struct pw_rankfile *file)
{
    struct pw_nccl_nvtx *nvtx = calloc(1, sizeof(*nvtx));
    if (nvtx)
        nvtx->file = file;
    return nvtx;
}

void pw_nccl_nvtx_destroy(struct pw_nccl_nvtx *nvtx)
{
    if (!nvtx)
        return;
    pw_nccl_ops_destroy(nvtx->ops);
    free(nvtx);
}

/* ---- payloads ---- */

/* A text that is already a row of /strings. */
static const char *text_of(const struct pw_nccl_nvtx *nvtx, const struct pw_origin *origin,
                           uint32_t id)
{
    return pw_rankfile_borrow_text(nvtx->file, pw_origin_name(origin, id));
}

static void keep_field(struct pw_nccl_nvtx *nvtx, const struct pw_record *record,
                       const struct pw_origin *origin)
{
    const char *name = text_of(nvtx, origin, record->payload.field);
    int field = 0;
    while (field < FIELDS && strcmp(field_names[field], name) != 0)
        field++;
    if (field == FIELDS || record->op == PW_PAYLOAD_TEXT || record->op == PW_PAYLOAD_DOUBLE)
        return;
    struct payload *payload = &nvtx->payloads[(uint64_t)record->payload.id % PAYLOADS];
    if (payload->id != record->payload.id)
        *payload = (struct payload){.id = record->payload.id};
    payload->has |= 1u << field;
    payload->values[field] = record->payload.value;
}

static bool has(const struct payload *payload, enum field field)
{
    return (payload->has & 1u << field) != 0;
}

/* Returns a rank or a number of ranks from the payload; -1: missing or impossible. */
static int32_t number(const struct payload *payload, enum field field)
{
    const int64_t value = has(payload, field) ? payload->values[field] : -1;
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

/* ---- communicators ---- */

static struct comm *comm_of(struct pw_nccl_nvtx *nvtx, uint64_t uid)
{
    for (size_t i = nvtx->base; i < nvtx->ncomms; i++)
        if (nvtx->comms[i].row.uid == uid)
            return &nvtx->comms[i];
    if (nvtx->ncomms == COMMS)
        return NULL;
    struct comm *comm = &nvtx->comms[nvtx->ncomms++];
    *comm = (struct comm){.file_row = -1};
    comm->row.uid = uid;
    comm->row.source = PW_SOURCE_NCCL;
    comm->row.my_rank = -1;
    return comm;
}

/* Reads the payload of a call that makes a communicator; complete only when the call was not in a
 * group. */
static void learn_comm(struct pw_nccl_nvtx *nvtx, const struct payload *payload)
{
    const uint64_t uid = (uint64_t)payload->values[COMM];
    const int32_t size = number(payload, RANKS), rank = number(payload, RANK);
    struct comm *comm = uid && size > 0 && rank >= 0 ? comm_of(nvtx, uid) : NULL;
    if (!comm)
        return;
    comm->is_several |= comm->row.my_rank >= 0 && comm->row.my_rank != rank;
    comm->row.size = size;
    comm->row.my_rank = rank;
}

static void count_collective(struct comm *comm, struct pw_nccl_op *op)
{
    if (pw_op_info(op->op)->cls == PW_CLASS_COLL)
        op->seq = comm->row.collectives++;
}

/* ---- calls that become operations ---- */

static void fill_op(struct pw_nccl_op *op, const struct call *call, struct comm *comm)
{
    op->has_call = op->is_alone = true;
    op->op = pw_nccl_func_op(call->func);
    op->call = (struct pw_nccl_span){call->origin.start, call->origin.end};
    op->call_thread = call->origin.thread;
    op->comm_row = comm->file_row;
    op->size = comm->row.size;
    op->peer = call->peer;
    op->count = call->bytes; /* counted in bytes, because the type is not known */
    op->element_bytes = 1;
    op->stack = pw_origin_stack(&call->origin, call->stack);
    if (pw_nccl_func_is_rooted(call->func) && call->peer >= 0 && call->peer == comm->row.my_rank)
        op->flags = PW_FLAG_ROOT;
    count_collective(comm, op);
}

static void settle_oldest(struct pw_nccl_nvtx *nvtx)
{
    const struct call *call = &nvtx->waiting[nvtx->first];
    nvtx->first = (nvtx->first + 1) % WAITING;
    nvtx->n--;
    struct comm *comm = call->func >= 0 ? comm_of(nvtx, call->uid) : NULL;
    if (!comm || comm->is_several || comm->row.size == 1)
        return; /* with one rank, NCCL only copies */
    if (!nvtx->ops && !(nvtx->ops = pw_nccl_ops_create(nvtx->file)))
        return;
    if (comm->file_row < 0)
        comm->file_row = pw_rankfile_new_comm(nvtx->file);
    struct pw_nccl_op *op = pw_nccl_ops_at(nvtx->ops, ++nvtx->last_id);
    if (!op)
        return;
    fill_op(op, call, comm);
    nvtx->operations++;
    pw_nccl_ops_join(nvtx->ops, op);
}

static bool is_inside(const struct call *inner, const struct pw_origin *outer)
{
    return inner->origin.thread == outer->thread && inner->origin.start >= outer->start &&
           inner->origin.end <= outer->end;
}

void pw_nccl_nvtx_drop(struct pw_nccl_nvtx *nvtx, const struct pw_origin *call)
{
    for (size_t i = 0; i < nvtx->n; i++) {
        struct call *waiting = &nvtx->waiting[(nvtx->first + i) % WAITING];
        if (is_inside(waiting, call))
            waiting->func = -1;
    }
}

static void wait_with(struct pw_nccl_nvtx *nvtx, const struct call *call)
{
    pw_nccl_nvtx_drop(nvtx, &call->origin); /* of nested calls, only the outermost is the
                                             * program's */
    if (nvtx->n == WAITING)
        settle_oldest(nvtx);
    nvtx->waiting[(nvtx->first + nvtx->n++) % WAITING] = *call;
}

static void see_range(struct pw_nccl_nvtx *nvtx, const struct pw_record *record,
                      const struct pw_origin *origin)
{
    const int64_t id = record->range.payload;
    const struct payload *payload = &nvtx->payloads[(uint64_t)id % PAYLOADS];
    if (record->op != PW_PAYLOAD_FIELDS || record->range.kind == PW_KIND_MARK ||
        (record->flags & PW_RANGE_UNENDED) || payload->id != id || !has(payload, COMM) ||
        strcmp(text_of(nvtx, origin, record->range.domain), "NCCL") != 0)
        return;
    const char *name = text_of(nvtx, origin, record->range.name);
    const int func = pw_nccl_func_find(name);
    if (strncmp(name, "ncclCommInit", strlen("ncclCommInit")) == 0 ||
        strcmp(name, "ncclCommSplit") == 0 || strcmp(name, "ncclCommShrink") == 0)
        learn_comm(nvtx, payload);
    if (func < 0 || !has(payload, BYTES) || payload->values[COMM] == 0)
        return;
    const struct call call = {
        .func = func,
        .uid = (uint64_t)payload->values[COMM],
        .bytes = payload->values[BYTES],
        .peer = number(payload, has(payload, ROOT) ? ROOT : PEER),
        .origin = *origin,
        .stack = record->stack,
    };
    wait_with(nvtx, &call);
}

void pw_nccl_nvtx_see(struct pw_nccl_nvtx *nvtx, const struct pw_record *record,
                      const struct pw_origin *origin)
{
    if (nvtx->is_refused)
        return;
    if (record->type == PW_REC_NVTX_PAYLOAD)
        keep_field(nvtx, record, origin);
    else
        see_range(nvtx, record, origin);
}

void pw_nccl_nvtx_refuse(struct pw_nccl_nvtx *nvtx)
{
    nvtx->is_refused = true;
    nvtx->n = 0;
}

/* ---- kernels ---- */

bool pw_nccl_nvtx_is_active(const struct pw_nccl_nvtx *nvtx)
{
    return !nvtx->is_refused && (nvtx->n || nvtx->ops);
}

void pw_nccl_nvtx_take_kernel(struct pw_nccl_nvtx *nvtx, const struct pw_row_kernel *kernel)
{
    if (!nvtx->ops)
        nvtx->ops = pw_nccl_ops_create(nvtx->file);
    if (nvtx->ops)
        pw_nccl_ops_take_kernel(nvtx->ops, kernel);
}

/* ---- the end ---- */

void pw_nccl_nvtx_flush(struct pw_nccl_nvtx *nvtx)
{
    while (nvtx->n)
        settle_oldest(nvtx);
    if (nvtx->ops)
        pw_nccl_ops_flush(nvtx->ops);
    for (size_t i = nvtx->base; i < nvtx->ncomms; i++)
        if (nvtx->comms[i].file_row >= 0)
            pw_rankfile_set_comm(nvtx->file, nvtx->comms[i].file_row, &nvtx->comms[i].row);
    nvtx->base = nvtx->ncomms;
    nvtx->last_id = 0;
    nvtx->is_refused = false;
    memset(nvtx->payloads, 0, sizeof(nvtx->payloads));
}

int64_t pw_nccl_nvtx_operations(const struct pw_nccl_nvtx *nvtx)
{
    return nvtx->operations;
}

int64_t pw_nccl_nvtx_kernels_alone(const struct pw_nccl_nvtx *nvtx)
{
    return nvtx->ops ? pw_nccl_ops_kernels_alone(nvtx->ops) : 0;
}
