/* Reads names and arguments of torch.distributed's operators in the spellings of several PyTorch
 * versions; see kineto.h. */
#include "import/kineto/kineto.h"

#include <string.h>

#include "core/limits.h"
#include "core/ops.h"
#include "import/parsers/jsonobject.h"

static uint32_t item_text(struct pw_trace *trace, const struct pw_json_item *item)
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

/* Reads the operation from the arguments that newer PyTorch versions write. */
static uint32_t from_arguments(struct pw_trace *trace, const struct pw_kineto_event *event,
                               int64_t *count_in, int64_t *count_out)
{
    const struct pw_json_item *name = event->of[PW_KINETO_COLLECTIVE];
    const struct pw_json_item *type = event->of[PW_KINETO_DTYPE];
    struct pw_collective c = {
        .op = pw_collective_op(name->text, name->length),
        .group = item_text(trace, event->of[PW_KINETO_GROUP_NAME]),
        .group_note = item_text(trace, event->of[PW_KINETO_GROUP_NOTE]),
        .members = item_text(trace, event->of[PW_KINETO_GROUP_RANKS]),
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

/* The length of the prefixes "nccl:" and "gloo:". */
enum { PREFIX = 5 };

static int is_gloo_work(const struct pw_json_item *name)
{
    return name && name->length > PREFIX && memcmp(name->text, "gloo:", PREFIX) == 0;
}

/* Reads the operation from an annotation's name. Older PyTorch versions have "nccl:all_reduce"
 * around the launch, with the shapes of the input; Gloo has "gloo:all_reduce" while its thread
 * works. */
static uint32_t from_annotation(struct pw_trace *trace, const struct pw_kineto_event *event,
                                int64_t *count_in, int64_t *count_out)
{
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
    /* these put out as much as they take in; for gathers and scatters the output is not known */
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
    if (name && name->length > PREFIX &&
        (memcmp(name->text, "nccl:", PREFIX) == 0 || memcmp(name->text, "xccl:", PREFIX) == 0 ||
         is_gloo_work(name)))
        return from_annotation(trace, event, count_in, count_out);
    return 0;
}

/* ---- Gloo ---- */

/* Returns the argument number `place`, counted from 0, of a torch.distributed operator as a rank of
 * its group; -1 when it is not there. The arguments are a text such as ["", "", "1", "0"]. */
static int32_t rank_in(const struct pw_json_item *arguments, int place)
{
    const char *at = arguments ? arguments->text : NULL;
    const char *end = at ? at + arguments->length : NULL;
    for (; at && place > 0; place--) {
        at = memchr(at, ',', (size_t)(end - at));
        at += at != NULL;
    }
    const struct pw_json_item rest = {.text = at, .length = at ? (uint32_t)(end - at) : 0};
    const char *word = NULL;
    size_t length = at ? pw_json_first_text(&rest, &word) : 0;
    const struct pw_json_item number = {
        .text = word, .length = (uint32_t)length, .type = PW_JSON_NUMBER};
    int64_t rank;
    return pw_json_to_int(&number, &rank) == 0 && rank >= 0 && rank < 1 << 24 ? (int32_t)rank : -1;
}

/* Returns the place of the peer or root among the arguments of "c10d::broadcast_" and the like; 0:
 * there is none. */
static int place_of_rank(uint16_t op)
{
    enum { NONE = 0, BEHIND_GROUP = 2, BEHIND_OPTION = 3 };
    switch (op) {
    case PW_OP_Send:
    case PW_OP_Recv:
    case PW_OP_Bcast:
        return BEHIND_GROUP;
    case PW_OP_Reduce:
    case PW_OP_Gather:
    case PW_OP_Scatter:
        return BEHIND_OPTION;
    default:
        return NONE;
    }
}

void pw_kineto_find_role(struct pw_kineto *k, struct pw_host_record *record)
{
    enum { CALL = 6 };
    const struct pw_json_item *name = k->event.of[PW_KINETO_NAME];
    struct pw_collective c = {
        .group_size = -1, .peer = -1, .first = -1, .stride = -1, .my_rank = -1};
    if (!name)
        return;
    if (record->collective && is_gloo_work(name))
        record->role = PW_ROLE_WORKS;
    else if (pw_kineto_is(name, "record_param_comms") && record->collective)
        record->role = PW_ROLE_TELLS;
    else if (pw_kineto_is(name, "_c10d_functional::wait_tensor"))
        record->role = PW_ROLE_WAITS;
    if (name->length <= CALL || memcmp(name->text, "c10d::", CALL) != 0)
        return;
    c.op = pw_collective_op(name->text + CALL, name->length - CALL);
    if (c.op == PW_OP_None)
        return;
    if (place_of_rank(c.op))
        c.peer = rank_in(k->event.of[PW_KINETO_CONCRETE], place_of_rank(c.op));
    record->role = PW_ROLE_BEGINS;
    record->collective = pw_collectives_find(&k->trace->collectives, &c);
    record->count_in = pw_json_count_elements(k->event.of[PW_KINETO_DIMS]);
}
