/* Keeps the records of one profiling window in sorters, and the texts and threads of its rank in
 * hash tables; see trace.h. */
#include "import/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"

/* Limits: bytes of a text (the rest is cut off), bytes of all texts, and number of lanes. */
enum { LONGEST = PW_LONGEST_TEXT, MOST_BYTES = 48 << 20, MOST_LANES = 65535 };

struct text_key {
    const char *text;
    size_t length;
};

void pw_names_init(struct pw_names *names, struct pw_rankfile *file)
{
    *names = (struct pw_names){.file = file};
}

void pw_names_fini(struct pw_names *names)
{
    pw_hash_fini(&names->texts);
    pw_hash_fini(&names->lanes);
    free(names->lane_ids);
}

static uint64_t hash_bytes(const char *text, size_t length)
{
    uint64_t hash = length;
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, text, sizeof(word));
        hash = pw_hash_mix(hash, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, text, length);
    return pw_hash_mix(hash, rest);
}

static int same_text(const void *items, int32_t item, const void *key)
{
    const struct text_key *wanted = key;
    const char *text = pw_rankfile_borrow_text(items, (uint32_t)item);
    return strncmp(text, wanted->text, wanted->length) == 0 && text[wanted->length] == '\0';
}

static uint32_t add_text(struct pw_names *names, const char *text, size_t length)
{
    static const char rest[] = "(too many names)";
    uint32_t row = pw_rankfile_texts(names->file);
    if (names->bytes > MOST_BYTES || row >= PW_MOST_TEXTS - 1) {
        names->refused++;
        text = rest;
        length = sizeof(rest) - 1;
        if (names->refused > 1)
            return row - 1; /* the last row is "(too many names)" */
    }
    names->bytes += (int64_t)length;
    pw_rankfile_text(names->file, row, text, length);
    return row;
}

/* Returns how much of a text to keep: up to a NUL (\u0000 in a trace), which /strings cannot store,
 * and at most LONGEST bytes. */
static size_t usable(const char *text, size_t length)
{
    const char *nul = memchr(text, '\0', length);
    length = nul ? (size_t)(nul - text) : length;
    return length < LONGEST ? length : LONGEST;
}

uint32_t pw_names_find(struct pw_names *names, const char *text, size_t length)
{
    length = length ? usable(text, length) : 0;
    struct text_key key = {text, length};
    if (!length || pw_hash_reserve(&names->texts))
        return 0;
    uint32_t value = (uint32_t)hash_bytes(text, length);
    struct pw_hash_slot *slot = pw_hash_find(&names->texts, value, same_text, names->file, &key);
    if (slot->item != PW_HASH_NONE)
        return (uint32_t)slot->item;
    int64_t refused = names->refused;
    uint32_t row = add_text(names, text, length);
    if (names->refused == refused)
        pw_hash_take(&names->texts, slot, value, (int32_t)row);
    return row;
}

static int same_lane(const void *items, int32_t item, const void *key)
{
    enum { ID = 2 * sizeof(int64_t) };
    return memcmp((const char *)items + (size_t)item * ID, key, ID) == 0;
}

int32_t pw_names_lane(struct pw_names *names, int64_t process, int64_t thread)
{
    const int64_t key[2] = {process, thread};
    if (names->nlanes == MOST_LANES || pw_hash_reserve(&names->lanes))
        return MOST_LANES - 1;
    uint32_t value = (uint32_t)pw_hash_mix((uint64_t)process, (uint64_t)thread);
    struct pw_hash_slot *slot = pw_hash_find(&names->lanes, value, same_lane, names->lane_ids, key);
    if (slot->item != PW_HASH_NONE)
        return slot->item;
    if (names->nlanes == names->lanes_capacity) {
        size_t capacity = names->lanes_capacity ? 2 * names->lanes_capacity : 16;
        void *more = realloc(names->lane_ids, capacity * sizeof(*names->lane_ids));
        if (!more)
            return MOST_LANES - 1;
        names->lane_ids = more;
        names->lanes_capacity = capacity;
    }
    memcpy(names->lane_ids[names->nlanes], key, sizeof(key));
    pw_hash_take(&names->lanes, slot, value, (int32_t)names->nlanes);
    return (int32_t)names->nlanes++;
}

int64_t pw_names_number(const char *text, size_t length)
{
    return (int64_t)(hash_bytes(text, length) >> 16);
}

enum { HOST_MEMORY = 24 << 20, DEVICE_MEMORY = 16 << 20 };

const char *pw_omission_words(enum pw_omission reason)
{
    static const char *const words[PW_OMISSIONS] = {
        [PW_OMIT_NOTHING] = "",
        [PW_OMIT_FLOW] = "arrows between events (events are joined by their numbers instead)",
        [PW_OMIT_GPU_ANNOTATION] = "annotations on GPU streams (those of the host are imported)",
        [PW_OMIT_CUDA_CALL] =
            "calls of the CUDA runtime (except launches; --cuda-calls imports all)",
        [PW_OMIT_HINT] = "hints for viewers (sorting and names)",
        [PW_OMIT_MARK] = "marks without a length",
        [PW_OMIT_UNKNOWN] = "events of categories that are not known",
        [PW_OMIT_FUNCTION] = "operations of functions that are not known",
        [PW_OMIT_MALFORMED] = "events that are no JSON objects",
        [PW_OMIT_NO_TIME] = "events without a possible time and length",
        [PW_OMIT_EARLY] = "activities of devices that begin before their launch (impossible)",
        [PW_OMIT_OUTSIDE] = "activities of devices outside the trace's time (impossible)",
        [PW_OMIT_TOO_LONG] =
            "activities of devices that last beyond the next one on their stream (impossible)",
        [PW_OMIT_DUPLICATE_KEY] = "events with the same key twice",
        [PW_OMIT_INCOMPLETE] = "events without the fields that their category needs",
        [PW_OMIT_GROUP] = "records of groups of operations (the operations are imported)",
        [PW_OMIT_PROXY] = "records of NCCL's proxy threads",
        [PW_OMIT_DERIVED] =
            "ranges that the profiler made of others (Scope Layer, Overlap Analysis)",
        [PW_OMIT_COUNTER] = "values of counters (clocks, memory, links)",
        [PW_OMIT_TASK] = "tasks of devices that are no kernels and no copies",
        [PW_OMIT_HCCL_TASK] = "tasks of which HCCL's operations are made (these are imported)",
        [PW_OMIT_LAYER] = "events of layers for which there is no table",
        [PW_OMIT_AVERAGE] = "rows with averages over steps",
        [PW_OMIT_BATCH_TIME] = "times of getting and sending single batches",
        [PW_OMIT_UNPLACED] = "samples of queues whose step is not known",
        [PW_OMIT_UNPLACED_CPU] = "samples of CPU time whose step is not known",
        [PW_OMIT_TWICE] = "samples of a queue whose size at each batch is imported",
        [PW_OMIT_BRANCH] = "samples of queues in branches of the data pipeline",
    };
    return words[reason];
}

int pw_trace_window_create(struct pw_trace *trace, struct pw_trace_window *out)
{
    *out = (struct pw_trace_window){.trace = trace,
                                    .start_ns = INT64_MAX,
                                    .end_ns = INT64_MIN,
                                    .device_span = {INT64_MAX, INT64_MIN},
                                    .zero_end_ns = INT64_MIN};
    const char *dir = trace->dir;
    int err = pw_sorter_create(dir, sizeof(struct pw_host_record), HOST_MEMORY, &out->host);
    err = err ? err
              : pw_sorter_create(dir, sizeof(struct pw_device_record), DEVICE_MEMORY, &out->device);
    err = err ? err
              : pw_sorter_create(dir, sizeof(struct pw_keyed_step), PW_ROWS_MEMORY_SMALL,
                                 &out->steps);
    err = err ? err
              : pw_sorter_create(dir, sizeof(struct pw_keyed_cuda_sync), PW_ROWS_MEMORY_SMALL,
                                 &out->syncs);
    if (err)
        pw_trace_window_destroy(out);
    return err;
}

void pw_trace_window_destroy(struct pw_trace_window *window)
{
    pw_sorter_destroy(window->host);
    pw_sorter_destroy(window->device);
    pw_sorter_destroy(window->steps);
    pw_sorter_destroy(window->syncs);
    window->host = window->device = window->steps = window->syncs = NULL;
}

struct pw_host_record pw_host_record_make(enum pw_host_type type, int64_t thread, int64_t start,
                                          int64_t end, uint32_t name)
{
    return (struct pw_host_record){
        .thread = thread,
        .start = start,
        .minus_end = -end,
        .sequence = -1,
        .count_in = -1,
        .count_out = -1,
        .name = name,
        .device = -1,
        .type = (uint8_t)type,
    };
}

void pw_trace_omit(struct pw_trace *trace, enum pw_omission reason)
{
    trace->counts.omitted[reason]++;
}

void pw_names_list(char *list, size_t size, const char *name, size_t length)
{
    size_t used = strlen(list);
    for (const char *at = list; *at; at += strspn(at, ", ")) {
        size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, name, length) == 0)
            return;
        at += word;
    }
    if (!length || memchr(name, ',', length) || used + length + 3 > size)
        return;
    snprintf(list + used, size - used, "%s%.*s", used ? ", " : "", (int)length, name);
}

void pw_trace_name_omitted(struct pw_trace *trace, const char *name, size_t length)
{
    pw_names_list(trace->counts.names_omitted, sizeof(trace->counts.names_omitted), name, length);
}

/* Extends the window to a time span that was recorded in it. */
static void extend(struct pw_trace_window *window, int64_t start, int64_t end)
{
    if (start == 0) { /* see pw_trace_window_bound() */
        window->zero_end_ns = end > window->zero_end_ns ? end : window->zero_end_ns;
        return;
    }
    window->start_ns = start < window->start_ns ? start : window->start_ns;
    window->end_ns = end > window->end_ns ? end : window->end_ns;
}

void pw_trace_window_bound(struct pw_trace_window *w)
{
    const int64_t hour_ns = (int64_t)3600 * 1000000000;
    const int has_others = w->end_ns >= w->start_ns;
    const int64_t first = has_others ? w->start_ns : w->device_span.start_ns;
    if (w->zero_end_ns != INT64_MIN && first > hour_ns && first != INT64_MAX) {
        w->drops_zero = 1;
    } else if (w->zero_end_ns != INT64_MIN) {
        w->start_ns = 0;
        w->end_ns = w->zero_end_ns > w->end_ns ? w->zero_end_ns : w->end_ns;
    }
    if (w->end_ns < w->start_ns) {
        w->start_ns = w->device_span.start_ns;
        w->end_ns = w->device_span.end_ns;
        w->is_device_only = 1;
    }
}

void pw_trace_add_host(struct pw_trace_window *window, const struct pw_host_record *record)
{
    window->calls += record->type == PW_HOST_CALL && record->id;
    extend(window, record->start, -record->minus_end);
    pw_sorter_add(window->host, record);
    window->trace->counts.taken++;
}

struct pw_device_record pw_trace_device(enum pw_device_type type, int64_t start, int64_t end)
{
    return (struct pw_device_record){
        .key = {0, start, 0},
        .start = start,
        .end = end,
        .seq = -1,
        .bytes = -1,
        .count_in = -1,
        .count_out = -1,
        .launch = -1,
        .thread = -1,
        .device = -1,
        .grid = {-1, -1, -1},
        .block = {-1, -1, -1},
        .registers = -1,
        .shared_bytes = -1,
        .src_device = -1,
        .dst_device = -1,
        .type = (uint8_t)type,
    };
}

void pw_trace_add_device(struct pw_trace_window *window, const struct pw_device_record *record)
{
    if (!window->trace->checks_devices || record->start == 0) {
        extend(window, record->start, record->end);
    } else {
        window->device_span.start_ns = record->start < window->device_span.start_ns
                                           ? record->start
                                           : window->device_span.start_ns;
        window->device_span.end_ns =
            record->end > window->device_span.end_ns ? record->end : window->device_span.end_ns;
    }
    if (record->device >= 0 && record->device < 64)
        window->devices |= (uint64_t)1 << record->device;
    pw_sorter_add(window->device, record);
    window->trace->counts.taken++;
}

void pw_trace_add_sync(struct pw_trace_window *window, const struct pw_row_cuda_sync *row)
{
    struct pw_keyed_cuda_sync record;
    memset(&record, 0, sizeof(record));
    record.key[0] = row->start;
    record.key[1] = row->end;
    record.row = *row;
    extend(window, row->start, row->end);
    pw_sorter_add(window->syncs, &record);
    window->trace->counts.taken++;
}

void pw_trace_add_step(struct pw_trace_window *window, int64_t step, int64_t start, int64_t end)
{
    struct pw_keyed_step record;
    memset(&record, 0, sizeof(record));
    record.key[0] = start;
    record.key[1] = -end;
    record.row = (struct pw_row_step){
        .step = step, .start = start, .end = end, .recorded = PW_RECORDED_ACTIVE};
    pw_sorter_add(window->steps, &record);
}

int64_t pw_trace_window_start(const struct pw_trace_window *window)
{
    return pw_sum(window->base_ns, window->start_ns == INT64_MAX ? 0 : window->start_ns);
}
