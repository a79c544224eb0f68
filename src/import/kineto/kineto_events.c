/* Imports each event by a table of categories. Looks up keys by their length first, because there
 * are many. See kineto_events.h. */
#include "import/kineto/kineto_events.h"

#include <errno.h>
#include <string.h>

#include "core/comm_kernel.h"
#include "core/limits.h"
#include "core/ops.h"
#include "import/parsers/jsonobject.h"
#include "import/trace/trace.h"

/* ---- the members of an event, by their keys ---- */

static const struct {
    const char *key;
    uint8_t length, depth;
} keys[PW_KINETO_KEY_COUNT] = {
#define PW_KINETO_ROW(id, depth, key) {key, sizeof(key) - 1, depth},
    PW_KINETO_KEYS(PW_KINETO_ROW)
#undef PW_KINETO_ROW
};

enum { LENGTHS = sizeof(((struct pw_kineto_index *)0)->first) };

void pw_kineto_index_init(struct pw_kineto_index *index)
{
    memset(index, 0, sizeof(*index));
    for (int k = PW_KINETO_KEY_COUNT - 1; k >= 0; k--) {
        index->next[k] = index->first[keys[k].length];
        index->first[keys[k].length] = (uint8_t)(k + 1);
    }
}

void pw_kineto_event_sort(const struct pw_kineto_index *index, const struct pw_json_object *object,
                          struct pw_kineto_event *out)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < object->n; i++) {
        const struct pw_json_item *item = &object->items[i];
        if (item->key_length >= LENGTHS)
            continue;
        for (uint8_t k = index->first[item->key_length]; k; k = index->next[k - 1])
            if (keys[k - 1].depth == item->depth && keys[k - 1].key[0] == item->key[0] &&
                memcmp(keys[k - 1].key, item->key, item->key_length) == 0) {
                out->duplicate |= out->of[k - 1] != NULL;
                out->of[k - 1] = item;
                break;
            }
    }
}

static int is(const struct pw_json_item *item, const char *word)
{
    return item && item->length == strlen(word) && memcmp(item->text, word, item->length) == 0;
}

/* Returns an integer of the event, or `otherwise` when the event has none in [least, most]. */
static int64_t int_of(const struct pw_kineto_event *event, enum pw_kineto_key key, int64_t least,
                      int64_t most, int64_t otherwise)
{
    int64_t value;
    if (pw_json_to_int(event->of[key], &value) || value < least || value > most)
        return otherwise;
    return value;
}

/* ---- NCCL and Gloo operations ----
 *
 * Names and arguments of torch.distributed's operators are read in the spellings of several PyTorch
 * versions. The events of one operation are joined by rankwrite.c and gloo.c. */

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
        .group_size = (int32_t)int_of(event, PW_KINETO_GROUP_SIZE, 1, 1 << 24, -1),
        .peer = -1,
        .first = (int32_t)int_of(event, PW_KINETO_RANK_START, 0, 1 << 24, -1),
        .stride = (int32_t)int_of(event, PW_KINETO_RANK_STRIDE, 0, 1 << 24, -1),
        .my_rank = -1,
    };
    if (c.op == PW_OP_Send)
        c.peer = (int32_t)int_of(event, PW_KINETO_DST_RANK, 0, 1 << 24, -1);
    if (c.op == PW_OP_Recv)
        c.peer = (int32_t)int_of(event, PW_KINETO_SRC_RANK, 0, 1 << 24, -1);
    if (type)
        set_type(trace, &c, type->text, type->length);
    *count_in = int_of(event, PW_KINETO_NELEMS_IN, 0, PW_LIMIT, -1);
    *count_out = int_of(event, PW_KINETO_NELEMS_OUT, 0, PW_LIMIT, -1);
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

/* Returns the number (traceops.h) of the operation that a kernel, a record_param_comms or a
 * "nccl:…" or "gloo:…" annotation describes, or 0: none. Sets *count_in and *count_out to its
 * elements of input and output; -1: not known. */
static uint32_t find_collective(struct pw_trace *trace, const struct pw_kineto_event *event,
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

/* Sets the record's role in a Gloo operation, and for an operator that begins one also `collective`
 * and `count_in`. Operations of NCCL need no role: they are imported from their kernels. */
static void find_role(struct pw_kineto *k, struct pw_host_record *record)
{
    enum { CALL = 6 };
    const struct pw_json_item *name = k->event.of[PW_KINETO_NAME];
    struct pw_collective c = {
        .group_size = -1, .peer = -1, .first = -1, .stride = -1, .my_rank = -1};
    if (!name)
        return;
    if (record->collective && is_gloo_work(name))
        record->role = PW_ROLE_WORKS;
    else if (is(name, "record_param_comms") && record->collective)
        record->role = PW_ROLE_TELLS;
    else if (is(name, "_c10d_functional::wait_tensor"))
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

/* ---- events ---- */

/* Times of a trace are microseconds with decimals; 10^MICROSECONDS makes ns of them. */
enum { MICROSECONDS = 3 };

/* ---- values ---- */

static uint32_t text_of(struct pw_kineto *k, enum pw_kineto_key key)
{
    const struct pw_json_item *item = k->event.of[key];
    return item && item->length ? pw_names_find(&k->trace->names, item->text, item->length) : 0;
}

static int64_t number_of(const struct pw_json_item *item)
{
    int64_t value;
    if (!item)
        return 0;
    return pw_json_to_int(item, &value) ? pw_names_number(item->text, item->length) : value;
}

static int32_t lane_of(struct pw_kineto *k)
{
    int64_t pid = number_of(k->event.of[PW_KINETO_PID]);
    int64_t tid = number_of(k->event.of[PW_KINETO_TID]);
    if (k->last.lane < 0 || pid != k->last.pid || tid != k->last.tid) {
        k->last.pid = pid;
        k->last.tid = tid;
        k->last.lane = pw_names_lane(&k->trace->names, pid, tid);
    }
    return k->last.lane;
}

static int time_of(const struct pw_json_item *item, int64_t *out)
{
    if (!item || (item->type != PW_JSON_NUMBER && item->type != PW_JSON_TEXT))
        return -EINVAL;
    return pw_decimal_scale(item->text, item->length, MICROSECONDS, out);
}

/* Sets k->start and k->end, ns. Returns 0, and counts the event as omitted, when the event has no
 * valid time, or no length although `needs_length` is set. */
static int read_span(struct pw_kineto *k, int needs_length)
{
    int64_t length = 0;
    if (time_of(k->event.of[PW_KINETO_TS], &k->start) ||
        (time_of(k->event.of[PW_KINETO_DUR], &length) && needs_length) || length < 0 ||
        !pw_is_possible(pw_sum(k->start, length))) {
        pw_trace_omit(k->trace, PW_OMIT_NO_TIME);
        return 0;
    }
    k->end = k->start + length;
    return 1;
}

/* ---- the host ---- */

static struct pw_host_record host_record(struct pw_kineto *k, enum pw_host_type type)
{
    return pw_host_record_make(type, lane_of(k), k->start, k->end, text_of(k, PW_KINETO_NAME));
}

/* Returns the operator's namespace as its type: "aten" for "aten::mm"; 0: none. */
static uint32_t type_of_operator(struct pw_kineto *k)
{
    const struct pw_json_item *name = k->event.of[PW_KINETO_NAME];
    const char *colons = name ? memmem(name->text, name->length, "::", 2) : NULL;
    return colons ? pw_names_find(&k->trace->names, name->text, (size_t)(colons - name->text)) : 0;
}

static int take_range(struct pw_kineto *k, enum pw_kind kind)
{
    struct pw_host_record record = host_record(k, PW_HOST_RANGE);
    enum pw_kineto_key dims = k->event.of[PW_KINETO_DIMS] ? PW_KINETO_DIMS : PW_KINETO_DIMS_OLD;
    record.kind = (uint8_t)kind;
    record.id = (uint64_t)int_of(&k->event, PW_KINETO_EXTERNAL, 0, INT64_MAX, 0);
    record.shapes = text_of(k, dims);
    if (kind == PW_KIND_OPERATOR) {
        record.category = type_of_operator(k);
        record.sequence = int_of(&k->event, PW_KINETO_SEQUENCE, 0, INT64_MAX, -1);
    }
    record.collective = find_collective(k->trace, &k->event, &record.count_in, &record.count_out);
    find_role(k, &record);
    pw_trace_add_host(k->window, &record);
    return 0;
}

/* Whether the event is the loading of a batch, which is an operator in older traces and an
 * annotation in newer ones. */
static int is_loader(const struct pw_json_item *name)
{
    static const char loader[] = "enumerate(DataLoader)#";
    return name && name->length >= sizeof(loader) - 1 &&
           memcmp(name->text, loader, sizeof(loader) - 1) == 0;
}

static int take_operator(struct pw_kineto *k)
{
    return take_range(k, is_loader(k->event.of[PW_KINETO_NAME]) ? PW_KIND_DATA : PW_KIND_OPERATOR);
}

static int take_function(struct pw_kineto *k)
{
    return take_range(k, PW_KIND_FUNCTION);
}

static int take_annotation(struct pw_kineto *k)
{
    return take_range(k, is_loader(k->event.of[PW_KINETO_NAME]) ? PW_KIND_DATA : PW_KIND_USER);
}

/* Returns N for "ProfilerStep#N", -1 for other names. torch.profiler marks steps by operators in
 * older traces, and by annotations in newer ones. */
static int64_t step_of(const struct pw_json_item *name)
{
    static const char step[] = "ProfilerStep#";
    int64_t number;
    if (!name || name->length <= sizeof(step) - 1 ||
        memcmp(name->text, step, sizeof(step) - 1) != 0)
        return -1;
    struct pw_json_item digits = *name;
    digits.text += sizeof(step) - 1;
    digits.length -= (uint32_t)sizeof(step) - 1;
    return pw_json_to_int(&digits, &number) == 0 ? number : -1;
}

static int take_step(struct pw_kineto *k, int64_t number)
{
    struct pw_host_record record = host_record(k, PW_HOST_RANGE);
    record.kind = PW_KIND_STEP;
    record.sequence = number;
    pw_trace_add_host(k->window, &record);
    pw_trace_add_step(k->window, number, k->start, k->end);
    return 0;
}

/* Returns how a call waits for a device (enum pw_sync), 0 for a call that does not. */
static uint8_t sync_of_call(const struct pw_json_item *name)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } waits[] = {
        {"cudaDeviceSynchronize", PW_SYNC_CONTEXT}, {"cudaStreamSynchronize", PW_SYNC_STREAM},
        {"cudaEventSynchronize", PW_SYNC_EVENT},    {"cuCtxSynchronize", PW_SYNC_CONTEXT},
        {"cuStreamSynchronize", PW_SYNC_STREAM},    {"cuEventSynchronize", PW_SYNC_EVENT},
        {"hipDeviceSynchronize", PW_SYNC_CONTEXT},  {"hipStreamSynchronize", PW_SYNC_STREAM},
        {"hipEventSynchronize", PW_SYNC_EVENT},
    };
    if (!name || !memmem(name->text, name->length, "Synchronize", 11))
        return 0;
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
        if (is(name, waits[i].name))
            return waits[i].kind;
    return 0;
}

static int take_call(struct pw_kineto *k)
{
    struct pw_host_record record = host_record(k, PW_HOST_CALL);
    record.id = (uint64_t)int_of(&k->event, PW_KINETO_CORRELATION, 0, INT64_MAX, 0);
    record.sync = sync_of_call(k->event.of[PW_KINETO_NAME]);
    pw_trace_add_host(k->window, &record);
    if (!k->trace->keep_cuda_calls) {
        k->trace->counts.taken--;
        pw_trace_omit(k->trace, PW_OMIT_CUDA_CALL);
    }
    return 0;
}

static int take_memory(struct pw_kineto *k)
{
    enum { CPU = 0 };
    struct pw_host_record record = host_record(k, PW_HOST_MEMORY);
    if (!is(k->event.of[PW_KINETO_NAME], "[memory]"))
        return PW_OMIT_MARK;
    if (pw_json_to_int(k->event.of[PW_KINETO_MEMORY_BYTES], &record.sequence))
        return PW_OMIT_INCOMPLETE;
    record.count_in = int_of(&k->event, PW_KINETO_TOTAL_ALLOCATED, 0, PW_LIMIT, -1);
    if (int_of(&k->event, PW_KINETO_DEVICE_TYPE, 0, 1000, CPU) != CPU)
        record.device = (int32_t)int_of(&k->event, PW_KINETO_DEVICE_ID, 0, 65535, -1);
    pw_trace_add_host(k->window, &record);
    return 0;
}

/* ---- devices ---- */

static int32_t number_or(const struct pw_kineto *k, enum pw_kineto_key key, int32_t otherwise)
{
    return (int32_t)int_of(&k->event, key, 0, INT32_MAX, otherwise);
}

static void read_sizes(const struct pw_kineto *k, enum pw_kineto_key key, int32_t out[3])
{
    int64_t sizes[3];
    size_t n = pw_json_to_ints(k->event.of[key], sizes, 3);
    for (size_t i = 0; i < 3; i++)
        out[i] = n == 3 && sizes[i] >= 0 && sizes[i] <= INT32_MAX ? (int32_t)sizes[i] : -1;
}

/* Returns the event's stream. Older traces have it only in the track's id, and the oldest as a text
 * "stream 7". */
static uint32_t stream_of(const struct pw_kineto *k)
{
    const struct pw_json_item *tid = k->event.of[PW_KINETO_TID];
    struct pw_json_item number = tid ? *tid : (struct pw_json_item){0};
    int64_t track = 0;
    if (number.length > 7 && memcmp(number.text, "stream ", 7) == 0) {
        number.text += 7;
        number.length -= 7;
    }
    if (pw_json_to_int(&number, &track) || track < 0 || track > UINT32_MAX)
        track = 0;
    return (uint32_t)int_of(&k->event, PW_KINETO_STREAM, 0, UINT32_MAX, track);
}

static struct pw_device_record device_record(struct pw_kineto *k, enum pw_device_type type)
{
    uint64_t correlation = (uint64_t)int_of(&k->event, PW_KINETO_CORRELATION, 0, INT64_MAX, 0);
    int32_t process = number_or(k, PW_KINETO_PID, -1);
    return (struct pw_device_record){
        .key = {(int64_t)correlation, k->start, 0},
        .start = k->start,
        .end = k->end,
        .correlation = correlation,
        .external = (uint64_t)int_of(&k->event, PW_KINETO_EXTERNAL, 0, INT64_MAX, 0),
        .graph_node = (uint64_t)int_of(&k->event, PW_KINETO_GRAPH_NODE, 0, INT64_MAX, 0),
        .bytes = int_of(&k->event, PW_KINETO_BYTES, 0, PW_LIMIT, -1),
        .count_in = -1,
        .count_out = -1,
        .launch = -1,
        .thread = -1,
        .device = number_or(k, PW_KINETO_DEVICE, process),
        .name = text_of(k, PW_KINETO_NAME),
        .context = (uint32_t)int_of(&k->event, PW_KINETO_CONTEXT, 0, UINT32_MAX, 0),
        .stream = stream_of(k),
        .grid = {-1, -1, -1},
        .block = {-1, -1, -1},
        .registers = -1,
        .shared_bytes = -1,
        .src_device = number_or(k, PW_KINETO_FROM_DEVICE, -1),
        .dst_device = number_or(k, PW_KINETO_TO_DEVICE, -1),
        .type = (uint8_t)type,
    };
}

/* Returns 1 when the kernel is one of communication, and sets its library. */
static int is_communication(const struct pw_json_item *name, uint8_t *library)
{
    struct pw_nccl_kernel nccl;
    const struct pw_comm_kernel *row = NULL;
    if (name && !pw_collective_kernel(name->text, name->length, &nccl))
        row = pw_comm_kernel_find(name->text, name->length);
    else
        return name != NULL;
    *library = row && row->library == PW_COMM_ONECCL   ? PW_LIBRARY_ONECCL
               : row && row->library == PW_COMM_DEVICE ? PW_LIBRARY_DEVICE
               : row && row->library == PW_COMM_HCCL   ? PW_LIBRARY_HCCL
                                                       : PW_LIBRARY_NCCL;
    return row != NULL;
}

static int take_kernel(struct pw_kineto *k)
{
    const struct pw_json_item *name = k->event.of[PW_KINETO_NAME];
    struct pw_device_record record = device_record(k, PW_DEVICE_KERNEL);
    read_sizes(k, PW_KINETO_GRID, record.grid);
    read_sizes(k, PW_KINETO_BLOCK, record.block);
    record.registers = number_or(k, PW_KINETO_REGISTERS, -1);
    record.shared_bytes = number_or(k, PW_KINETO_SHARED, -1);
    if (is_communication(name, &record.library)) {
        record.is_nccl = 1;
        record.collective =
            find_collective(k->trace, &k->event, &record.count_in, &record.count_out);
    }
    pw_trace_add_device(k->window, &record);
    return 0;
}

/* Returns the kind of a copy (enum pw_copy) by its name, such as "Memcpy DtoH (Device ->
 * Pageable)". */
static uint8_t copy_of(const struct pw_json_item *name)
{
    static const struct {
        const char *word;
        uint8_t kind;
    } copies[] = {
        {"HtoD", PW_COPY_HTOD}, {"DtoH", PW_COPY_DTOH}, {"DtoD", PW_COPY_DTOD},
        {"HtoH", PW_COPY_HTOH}, {"PtoP", PW_COPY_PTOP}, {"HtoA", PW_COPY_HTOA},
        {"AtoH", PW_COPY_ATOH}, {"AtoA", PW_COPY_ATOA}, {"AtoD", PW_COPY_ATOD},
        {"DtoA", PW_COPY_DTOA},
    };
    for (size_t i = 0; name && i < sizeof(copies) / sizeof(copies[0]); i++)
        if (memmem(name->text, name->length, copies[i].word, 4))
            return copies[i].kind;
    return PW_COPY_UNKNOWN;
}

static int take_memcpy(struct pw_kineto *k)
{
    const struct pw_json_item *name = k->event.of[PW_KINETO_NAME];
    struct pw_device_record record = device_record(k, PW_DEVICE_MEMCPY);
    record.copy = copy_of(name);
    record.asynchronous = name && !memmem(name->text, name->length, "Pageable", 8);
    pw_trace_add_device(k->window, &record);
    return 0;
}

static int take_memset(struct pw_kineto *k)
{
    struct pw_device_record record = device_record(k, PW_DEVICE_MEMSET);
    pw_trace_add_device(k->window, &record);
    return 0;
}

static int take_sync(struct pw_kineto *k)
{
    const struct pw_json_item *kind = k->event.of[PW_KINETO_SYNC_KIND];
    const struct pw_json_item *name = k->event.of[PW_KINETO_NAME];
    kind = kind ? kind : name;
    struct pw_row_cuda_sync row = {
        .start = k->start,
        .end = k->end,
        .kind = is(kind, "Event Sync")          ? PW_SYNC_EVENT
                : is(kind, "Stream Wait Event") ? PW_SYNC_STREAM_WAITS
                : is(kind, "Stream Sync")       ? PW_SYNC_STREAM
                : is(kind, "Context Sync")      ? PW_SYNC_CONTEXT
                                                : PW_SYNC_UNKNOWN,
        .device = number_or(k, PW_KINETO_DEVICE, -1),
        .stream = int_of(&k->event, PW_KINETO_STREAM, 0, UINT32_MAX, -1),
        .event = int_of(&k->event, PW_KINETO_EVENT_ID, 0, INT64_MAX, -1),
        .correlation = (uint64_t)int_of(&k->event, PW_KINETO_CORRELATION, 0, INT64_MAX, 0),
    };
    pw_trace_add_sync(k->window, &row);
    return 0;
}

/* ---- the choice by phase and category ---- */

static int take_window(struct pw_kineto *k)
{
    k->window->start_ns = k->start < k->window->start_ns ? k->start : k->window->start_ns;
    k->window->end_ns = k->end > k->window->end_ns ? k->end : k->window->end_ns;
    k->window->has_span = 1;
    k->trace->counts.taken++;
    return 0;
}

/* What the profiler itself took: buffers, the loading of functions, what it adds to calls. */
static int take_overhead(struct pw_kineto *k)
{
    struct pw_import_counts *counts = &k->trace->counts;
    counts->overhead_ns = pw_sum(counts->overhead_ns, k->end - k->start);
    counts->overheads++;
    counts->taken++;
    return 0;
}

static int skip_gpu_annotation(struct pw_kineto *k)
{
    (void)k;
    return PW_OMIT_GPU_ANNOTATION;
}

/* The functions that import complete events, by category. They return 0, or an enum pw_omission
 * that says why the event is not imported. */
static const struct {
    const char *category;
    int (*take)(struct pw_kineto *k);
} categories[] = {
    {"cpu_op", take_operator},
    {"kernel", take_kernel},
    {"cuda_runtime", take_call},
    {"cuda_driver", take_call},
    {"python_function", take_function},
    {"user_annotation", take_annotation},
    {"gpu_memcpy", take_memcpy},
    {"gpu_memset", take_memset},
    {"cuda_sync", take_sync},
    {"gpu_user_annotation", skip_gpu_annotation},
    {"Trace", take_window},
    {"overhead", take_overhead},
    /* spellings of other PyTorch versions */
    {"Operator", take_operator},
    {"Kernel", take_kernel},
    {"Runtime", take_call},
    {"Memcpy", take_memcpy},
    {"Memset", take_memset},
    {"hip_runtime", take_call},
    {"hip_driver", take_call},
    /* devices other than NVIDIA's and AMD's */
    {"xpu_runtime", take_call},
    {"xpu_driver", take_call},
    {"mtia_runtime", take_call},
    {"privateuse1_runtime", take_call},
    {"privateuse1_driver", take_call},
};

static int take_complete(struct pw_kineto *k)
{
    const struct pw_json_item *category = k->event.of[PW_KINETO_CAT];
    const int64_t step = step_of(k->event.of[PW_KINETO_NAME]);
    /* On a GPU's track, the mark covers the GPU's work for the step, not the step. */
    if (step >= 0 && !is(category, "gpu_user_annotation"))
        return read_span(k, 1) ? take_step(k, step) : 0;
    for (size_t i = 0; category && i < sizeof(categories) / sizeof(categories[0]); i++)
        if (is(category, categories[i].category))
            return read_span(k, 1) ? categories[i].take(k) : 0;
    if (!category && is(k->event.of[PW_KINETO_PID], "CPU functions")) /* made without Kineto */
        return read_span(k, 1) ? take_operator(k) : 0;
    return PW_OMIT_UNKNOWN;
}

static int take_instant(struct pw_kineto *k)
{
    if (!k->event.of[PW_KINETO_MEMORY_BYTES])
        return PW_OMIT_MARK;
    return read_span(k, 0) ? take_memory(k) : 0;
}

/* Takes the names of host threads. The names of streams only repeat their numbers. */
static int take_metadata(struct pw_kineto *k)
{
    const struct pw_json_item *name = k->event.of[PW_KINETO_ARG_NAME];
    struct pw_row_thread_name row = {.time = -1};
    int64_t tid;
    if (!is(k->event.of[PW_KINETO_NAME], "thread_name") || !name ||
        (name->length > 7 && memcmp(name->text, "stream ", 7) == 0) ||
        pw_json_to_int(k->event.of[PW_KINETO_TID], &tid) || tid < INT32_MIN || tid > INT32_MAX)
        return PW_OMIT_HINT;
    row.tid = (int32_t)tid;
    row.thread = lane_of(k);
    row.name = text_of(k, PW_KINETO_ARG_NAME);
    pw_rankfile_append(k->trace->file, PW_TABLE_thread_name, &row);
    k->trace->counts.taken++;
    return 0;
}

int pw_kineto_take(struct pw_kineto *k)
{
    const struct pw_json_item *phase = k->event.of[PW_KINETO_PH];
    switch (phase && phase->length == 1 ? phase->text[0] : '\0') {
    case 'X':
        return take_complete(k);
    case 'i':
    case 'I':
        return take_instant(k);
    case 'M':
        return take_metadata(k);
    case 's':
    case 't':
    case 'f':
        return PW_OMIT_FLOW;
    default:
        return PW_OMIT_UNKNOWN;
    }
}
