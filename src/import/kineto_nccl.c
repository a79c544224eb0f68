/* NCCL operations in Kineto's events; see kineto_nccl.h. */
#include "import/kineto_nccl.h"

#include <string.h>

#include "core/limits.h"
#include "core/ops.h"

static uint32_t text_of(struct pw_trace *trace, const struct pw_json_item *item)
{
    return item && item->length ? pw_names_find(&trace->names, item->text, item->length) : 0;
}

static void set_type(struct pw_trace *trace, struct pw_collective *c, const char *name,
                     size_t length)
{
    c->element_bytes = pw_collective_element(name, length);
    if (c->element_bytes)
        c->datatype = pw_names_find(&trace->names, name, length);
}

/* By the arguments that newer versions write. */
static uint32_t from_arguments(struct pw_trace *trace, const struct pw_kineto_event *event,
                               int64_t *count_in, int64_t *count_out)
{
    const struct pw_json_item *name = event->of[PW_KINETO_COLLECTIVE];
    const struct pw_json_item *type = event->of[PW_KINETO_DTYPE];
    struct pw_collective c = {
        .op = pw_collective_op(name->text, name->length),
        .group = text_of(trace, event->of[PW_KINETO_GROUP_NAME]),
        .group_note = text_of(trace, event->of[PW_KINETO_GROUP_NOTE]),
        .members = text_of(trace, event->of[PW_KINETO_GROUP_RANKS]),
        .group_size = (int32_t)pw_kineto_int(event, PW_KINETO_GROUP_SIZE, 1, 1 << 24, -1),
        .peer = -1,
        .first = (int32_t)pw_kineto_int(event, PW_KINETO_RANK_START, 0, 1 << 24, -1),
        .stride = (int32_t)pw_kineto_int(event, PW_KINETO_RANK_STRIDE, 0, 1 << 24, -1),
        .my_rank = -1,
    };
    if (c.op == PW_OP_Send)
        c.peer = (int32_t)pw_kineto_int(event, PW_KINETO_DST_RANK, 0, 1 << 24, -1);
    if (c.op == PW_OP_Recv)
        c.peer = (int32_t)pw_kineto_int(event, PW_KINETO_SRC_RANK, 0, 1 << 24, -1);
    if (type)
        set_type(trace, &c, type->text, type->length);
    *count_in = pw_kineto_int(event, PW_KINETO_NELEMS_IN, 0, PW_LIMIT, -1);
    *count_out = pw_kineto_int(event, PW_KINETO_NELEMS_OUT, 0, PW_LIMIT, -1);
    return pw_collectives_find(&trace->collectives, &c);
}

/* Older versions: an annotation "nccl:all_reduce" around the launch, with the shapes of what goes
 * in. */
static uint32_t from_annotation(struct pw_trace *trace, const struct pw_kineto_event *event,
                                int64_t *count_in, int64_t *count_out)
{
    enum { PREFIX = 5 };
    const struct pw_json_item *name = event->of[PW_KINETO_NAME];
    const struct pw_json_item *dims = event->of[PW_KINETO_DIMS],
                              *types = event->of[PW_KINETO_TYPES];
    struct pw_collective c = {
        .op = pw_collective_op(name->text + PREFIX, name->length - PREFIX),
        .group_size = -1,
        .peer = -1,
        .first = -1,
        .stride = -1,
        .my_rank = -1,
    };
    const char *type;
    if (c.op == PW_OP_None)
        return 0;
    if (dims)
        *count_in = pw_json_count_elements(dims);
    if (types) {
        size_t length = pw_json_first_text(types, &type);
        set_type(trace, &c, type, length);
    }
    /* as much comes out as goes in; of gathers and scatters nothing is said */
    if (c.op == PW_OP_Allreduce || c.op == PW_OP_Bcast || c.op == PW_OP_Reduce)
        *count_out = *count_in;
    return pw_collectives_find(&trace->collectives, &c);
}

uint32_t pw_kineto_collective(struct pw_trace *trace, const struct pw_kineto_event *event,
                              int64_t *count_in, int64_t *count_out)
{
    const struct pw_json_item *name = event->of[PW_KINETO_NAME];
    *count_in = *count_out = -1;
    if (event->of[PW_KINETO_COLLECTIVE] && event->of[PW_KINETO_COLLECTIVE]->length)
        return from_arguments(trace, event, count_in, count_out);
    if (name && name->length > 5 && memcmp(name->text, "nccl:", 5) == 0)
        return from_annotation(trace, event, count_in, count_out);
    return 0;
}
