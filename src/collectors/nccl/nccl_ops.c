/* Keeps operations until their kernels are known, and writes their rows; see nccl_ops.h.
 *
 * How the kernel of an operation is found: a kernel's row has the time and thread of its launch. If
 * NCCL reports the launch of the operation, its kernel is the one that was launched in that time.
 * NCCL before 2.28 reports enqueued tasks right after the launch: then it is the last kernel before
 * that. All operations of a plan share its kernel. If the launches of kernels are not known,
 * kernels are assigned in order. */
#include "collectors/nccl/nccl_ops.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops.h"

/* Limits: waiting operations, waiting kernels, stored plans; and how many operations are searched
 * for a kernel. */
enum { OPS = 1 << 13, KERNELS = 1 << 8, PLANS = 1 << 6, LOOKS = 1 << 11 };

#define MOST_IDS (UINT64_MAX / 2)

struct pw_nccl_ops {
    struct pw_rankfile *file;
    uint64_t first, next; /* range of the numbers of waiting operations */
    uint64_t unmatched;   /* all operations with lower numbers have a kernel */
    struct {
        uint64_t plan;
        struct pw_row_kernel kernel;
    } plans[PLANS];
    struct pw_row_kernel kernels[KERNELS];
    size_t nkernels;
    int64_t kernels_alone, incomplete;
    struct pw_nccl_op ops[OPS];
};

struct pw_nccl_ops *pw_nccl_ops_create(struct pw_rankfile *file)
{
    struct pw_nccl_ops *ops = calloc(1, sizeof(*ops));
    if (ops) {
        ops->file = file;
        ops->first = ops->next = ops->unmatched = 1;
    }
    return ops;
}

void pw_nccl_ops_destroy(struct pw_nccl_ops *ops)
{
    free(ops);
}

/* ---- rows ---- */

static bool is_each(enum pw_op_amount amount)
{
    return amount == PW_AMOUNT_EACH_SBLOCK || amount == PW_AMOUNT_EACH_RBLOCK ||
           amount == PW_AMOUNT_EACH_PART;
}

/* The bytes that this rank sent and received, computed as for the MPI function of the same name.
 * NCCL's count is that of one block. */
static void compute_bytes(const struct pw_nccl_op *op, int64_t *sent, int64_t *received)
{
    const struct pw_op_info *info = pw_op_info(op->op);
    const bool is_root = (op->flags & PW_FLAG_ROOT) != 0;
    if (op->count < 0) {
        *sent = *received = -1;
        return;
    }
    const uint64_t one = (uint64_t)op->count * op->element_bytes;
    const uint64_t all = one * (op->size > 0 ? (uint64_t)op->size : 1);
    uint64_t out = is_each(info->sent) ? all : one, in = is_each(info->received) ? all : one;
    if (info->cls == PW_CLASS_RECV || (info->shape == PW_SHAPE_FROM_ROOT && !is_root))
        out = 0;
    /* In a broadcast the root receives nothing. */
    if (info->cls == PW_CLASS_SEND || (info->shape == PW_SHAPE_TO_ROOT && !is_root) ||
        (info->shape == PW_SHAPE_FROM_ROOT && is_root && info->sent == PW_AMOUNT_SBLOCK))
        in = 0;
    *sent = (int64_t)out;
    *received = (int64_t)in;
}

/* Chooses the operation's times: those of its kernel, else of its kernel's channels, else of the
 * host's call. */
static enum pw_timed choose_times(const struct pw_nccl_op *op, struct pw_nccl_span *span)
{
    if (op->has_kernel) {
        *span = (struct pw_nccl_span){op->kernel.start, op->kernel.end};
        return PW_TIMED_KERNEL;
    }
    if (op->channel.start < op->channel.end) {
        *span = op->channel;
        return PW_TIMED_CHANNELS;
    }
    *span = op->call;
    return PW_TIMED_ENQUEUED;
}

void pw_nccl_ops_write(struct pw_nccl_ops *ops, struct pw_nccl_op *op)
{
    struct pw_nccl_span span;
    const enum pw_timed timed = choose_times(op, &span);
    struct pw_row_comm_event event = {
        .start = span.start,
        .end = span.end,
        .op = op->op,
        .source = PW_SOURCE_NCCL,
        .flags = (uint8_t)(op->flags | (timed == PW_TIMED_ENQUEUED ? PW_FLAG_ENQUEUED : 0)),
        .comm = op->comm_row,
        .seq = op->seq,
        .peer = op->peer,
        .thread = op->call_thread,
        .inside_ns = op->call.end - op->call.start,
        .stack = op->stack,
    };
    compute_bytes(op, &event.sent_bytes, &event.recv_bytes);
    const struct pw_row_nccl row = {
        .comm_row = pw_rankfile_rows(ops->file, PW_TABLE_comm_event),
        .enqueue = op->call.start,
        .correlation = op->kernel.correlation,
        .device = op->has_kernel ? op->kernel.device : -1,
        .stream = op->has_kernel ? op->kernel.stream : op->stream,
        .count = op->count,
        .datatype = op->datatype,
        .algorithm = op->algorithm,
        .protocol = op->protocol,
        .channels = op->channels,
        .timed = (uint8_t)timed,
        .operation = (int64_t)op->id,
    };
    pw_rankfile_append(ops->file, PW_TABLE_comm_event, &event);
    /* Only if the row of /events/comm was written: the file may have reached its maximum. */
    if (pw_rankfile_rows(ops->file, PW_TABLE_comm_event) > row.comm_row)
        pw_rankfile_append(ops->file, PW_TABLE_nccl, &row);
}

static void finish_op(struct pw_nccl_ops *ops, struct pw_nccl_op *op)
{
    if (!op->id || op->is_written)
        return;
    op->is_written = true;
    if (op->has_call)
        pw_nccl_ops_write(ops, op);
    else
        ops->incomplete++;
}

/* ---- the table ---- */

static struct pw_nccl_op *place_of(struct pw_nccl_ops *ops, uint64_t id)
{
    return &ops->ops[id % OPS];
}

struct pw_nccl_op *pw_nccl_ops_find(struct pw_nccl_ops *ops, uint64_t id)
{
    struct pw_nccl_op *op = place_of(ops, id);
    return id && op->id == id && !op->is_written ? op : NULL;
}

struct pw_nccl_op *pw_nccl_ops_at(struct pw_nccl_ops *ops, uint64_t id)
{
    struct pw_nccl_op *op = place_of(ops, id);
    if (id == 0 || id > MOST_IDS || op->id > id || (op->id == id && op->is_written))
        return NULL;
    if (op->id == id)
        return op;
    finish_op(ops, op);
    *op = (struct pw_nccl_op){.id = id,
                              .comm_row = -1,
                              .seq = -1,
                              .peer = -1,
                              .channel = {INT64_MAX, INT64_MIN},
                              .timer = {INT64_MAX, INT64_MIN},
                              .comm = UINT32_MAX};
    ops->next = id >= ops->next ? id + 1 : ops->next;
    if (ops->next - ops->first > OPS)
        ops->first = ops->next - OPS;
    if (ops->unmatched < ops->first)
        ops->unmatched = ops->first;
    return op;
}

void pw_nccl_ops_last(const struct pw_nccl_ops *ops,
                      bool (*see)(void *arg, const struct pw_nccl_op *op, bool ended), void *arg)
{
    for (uint64_t id = ops->next; id-- > ops->first;) {
        const struct pw_nccl_op *op = &ops->ops[id % OPS];
        const bool has_ended = op->has_kernel || op->channel.start < op->channel.end;
        if (op->id == id && op->has_call && (op->seq >= 0 || op->is_counted) &&
            !see(arg, op, has_ended))
            return;
    }
}

/* Writes in the order of the numbers, which is that of the calls. */
void pw_nccl_ops_flush(struct pw_nccl_ops *ops)
{
    for (uint64_t id = ops->first; id < ops->next; id++)
        if (place_of(ops, id)->id == id)
            finish_op(ops, place_of(ops, id));
    if (ops->next > 1) { /* otherwise the table is unused, and its 2 MiB need not be cleared */
        for (size_t i = 0; i < OPS; i++)
            ops->ops[i].id = 0;
        memset(ops->plans, 0, sizeof(ops->plans));
    }
    ops->kernels_alone += (int64_t)ops->nkernels;
    ops->nkernels = 0;
    ops->first = ops->next = ops->unmatched = 1;
}

int64_t pw_nccl_ops_kernels_alone(const struct pw_nccl_ops *ops)
{
    return ops->kernels_alone;
}

int64_t pw_nccl_ops_incomplete(const struct pw_nccl_ops *ops)
{
    return ops->incomplete;
}

/* ---- kernels ---- */

static bool is_open(const struct pw_nccl_op *op)
{
    return op && op->has_call && !op->has_kernel;
}

/* Returns 2 when the kernel was launched in the time of the operation's launch, 1 when it may be
 * the operation's, else 0. The host's clock gives the launch; the kernel's start is converted from
 * the GPU's clock, and may be a little too early. */
static int fits(const struct pw_nccl_op *op, const struct pw_row_kernel *kernel)
{
    const bool is_timed = kernel->launch >= 0;
    if (!is_open(op))
        return 0;
    if (op->is_alone) /* in a group the kernel is launched after all calls, so it may be of another
                       * one */
        return 2 * (is_timed && kernel->thread == op->call_thread &&
                    kernel->launch >= op->call.start && kernel->launch <= op->call.end);
    if (is_timed && op->has_task && op->is_launched)
        return 2 * (kernel->launch >= op->launch.start && kernel->launch <= op->launch.end);
    if (kernel->start < op->call.start)
        return 0;
    if (is_timed && kernel->thread >= 0 &&
        kernel->thread != (op->has_task ? op->task_thread : op->call_thread))
        return 0;
    if (is_timed && op->has_task)
        return kernel->launch <= op->launch.start;
    if (is_timed)
        return kernel->launch >= op->call.start;
    return 1;
}

static struct pw_nccl_op *find_for(struct pw_nccl_ops *ops, const struct pw_row_kernel *kernel)
{
    struct pw_nccl_op *maybe = NULL;
    uint64_t end = ops->next - ops->unmatched > LOOKS ? ops->unmatched + LOOKS : ops->next;
    for (uint64_t id = ops->unmatched; id < end; id++) {
        struct pw_nccl_op *op = pw_nccl_ops_find(ops, id);
        int fit = fits(op, kernel);
        if (fit == 2)
            return op;
        /* Prefer operations whose task is known. */
        if (fit == 1 && (!maybe || (!maybe->has_task && op->has_task)))
            maybe = op;
    }
    return maybe;
}

static void give(struct pw_nccl_ops *ops, struct pw_nccl_op *op, const struct pw_row_kernel *kernel)
{
    op->kernel = *kernel;
    op->has_kernel = true;
    finish_op(ops, op);
}

/* Assigns the kernel to all operations of the plan. Operations that are reported later find it in
 * `plans`. */
static void give_plan(struct pw_nccl_ops *ops, const struct pw_nccl_op *first,
                      const struct pw_row_kernel *kernel)
{
    const uint64_t plan = first->plan;
    if (!plan)
        return;
    ops->plans[plan % PLANS].plan = plan;
    ops->plans[plan % PLANS].kernel = *kernel;
    for (uint64_t id = ops->unmatched; id < ops->next && id - ops->unmatched < LOOKS; id++) {
        struct pw_nccl_op *op = pw_nccl_ops_find(ops, id);
        if (op && op->plan == plan && is_open(op))
            give(ops, op, kernel);
    }
}

/* Whether no kernel is needed for this number any more. A number may have no operation: one that is
 * far enough behind will not come. */
static bool is_settled(struct pw_nccl_ops *ops, uint64_t id)
{
    enum { FAR = 256 };
    const struct pw_nccl_op *op = place_of(ops, id);
    return op->id == id ? op->has_kernel || op->is_written : ops->next - id > FAR;
}

bool pw_nccl_ops_match_kernel(struct pw_nccl_ops *ops, const struct pw_row_kernel *kernel)
{
    struct pw_nccl_op *op = find_for(ops, kernel);
    if (!op)
        return false;
    give(ops, op, kernel);
    give_plan(ops, op, kernel);
    while (ops->unmatched < ops->next && is_settled(ops, ops->unmatched))
        ops->unmatched++;
    return true;
}

static void drop_kernel(struct pw_nccl_ops *ops, size_t at)
{
    ops->nkernels--;
    memmove(&ops->kernels[at], &ops->kernels[at + 1],
            (ops->nkernels - at) * sizeof(ops->kernels[0]));
}

void pw_nccl_ops_join(struct pw_nccl_ops *ops, struct pw_nccl_op *op)
{
    if (op->plan && ops->plans[op->plan % PLANS].plan == op->plan && is_open(op))
        give(ops, op, &ops->plans[op->plan % PLANS].kernel);
    for (size_t i = 0; i < ops->nkernels;)
        if (pw_nccl_ops_match_kernel(ops, &ops->kernels[i]))
            drop_kernel(ops, i);
        else
            i++;
}

void pw_nccl_ops_take_kernel(struct pw_nccl_ops *ops, const struct pw_row_kernel *kernel)
{
    if (pw_nccl_ops_match_kernel(ops, kernel))
        return;
    if (ops->nkernels == KERNELS) {
        ops->kernels_alone++;
        drop_kernel(ops, 0);
    }
    ops->kernels[ops->nkernels++] = *kernel;
}
