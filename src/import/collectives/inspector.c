/* Reads logs of NCCL Inspector; see format.h. Verbose logs have the times at which NCCL's proxy
 * thread saw the kernel's channels begin and end; other logs have only the kernel's duration. */
#include "import/trace/format.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/ops.h"
#include "core/tables.h"
#include "import/parsers/jsonfile.h"
#include "import/parsers/jsonobject.h"

/* A record's communicator and process, and the search for the rank and job of a log. */

struct pw_inspector_header {
    char id[32], name[64], hostname[64]; /* communicator's id and name; host */
    int64_t rank, nranks;                /* in the communicator; -1: not known */
    int64_t dump_ns;                     /* when the record was written; 0: not known */
};

/* Updates *out from a record's "header" and "metadata". Newer logs write these once for all records
 * that follow. Returns 1 when the record has a "header". */
static int pw_inspector_header_read(const struct pw_json_object *record,
                                    struct pw_inspector_header *out)
{
    enum { NS = 1000, MOST_RANKS = 1 << 24 };
    const struct pw_json_item *header = pw_json_find(record, 0, "header");
    const struct pw_json_item *metadata = pw_json_find(record, 0, "metadata");
    int64_t us;
    if (header) {
        pw_json_copy(pw_json_find_in(record, header, "id"), out->id, sizeof(out->id));
        pw_json_copy(pw_json_find_in(record, header, "comm_name"), out->name, sizeof(out->name));
        if (strcmp(out->name, "unknown") == 0)
            out->name[0] = '\0';
        if (pw_json_to_int(pw_json_find_in(record, header, "rank"), &out->rank) ||
            pw_json_to_int(pw_json_find_in(record, header, "n_ranks"), &out->nranks) ||
            out->nranks < 1 || out->nranks > MOST_RANKS || out->rank < 0 ||
            out->rank >= out->nranks)
            out->rank = out->nranks = -1;
    }
    if (metadata) {
        pw_json_copy(pw_json_find_in(record, metadata, "hostname"), out->hostname,
                     sizeof(out->hostname));
        out->dump_ns = 0;
        if (pw_json_to_int(pw_json_find_in(record, metadata, "dump_timestamp_us"), &us) == 0 &&
            us > 0 && us <= PW_LIMIT / NS)
            out->dump_ns = us * NS;
    }
    return header != NULL;
}

struct look {
    struct pw_import_head *head;
    struct pw_json_parser *parser;
    struct pw_inspector_header header;
    int64_t records;
    int is_other, several;
};

static int other_list(void *context, const char *key, size_t length)
{
    struct look *look = context;
    (void)key, (void)length;
    look->is_other = 1;
    return 1;
}

static int other_member(void *context, const char *key, size_t key_length, const char *value,
                        size_t length)
{
    struct look *look = context;
    (void)key, (void)key_length, (void)value, (void)length;
    look->is_other = 1;
    return 1;
}

/* Takes the rank from the largest communicator, which is assumed to have all ranks of the job. */
static void keep_largest(struct look *look)
{
    const struct pw_inspector_header *h = &look->header;
    struct pw_import_head *head = look->head;
    look->several |= strcmp(head->job, h->id) == 0 && head->rank != h->rank;
    if (h->nranks <= head->world_size)
        return;
    head->rank = h->rank;
    head->world_size = h->nranks;
    snprintf(head->job, sizeof(head->job), "%s", h->id);
}

static int look_at_record(void *context, const char *text, size_t length, int64_t offset)
{
    struct look *look = context;
    struct pw_json_object object;
    (void)offset;
    int ok = pw_json_parse(look->parser, text, length, &object) == 0;
    int has = ok && pw_inspector_header_read(&object, &look->header) && look->header.id[0];
    if (look->records++ == 0 && !has) {
        look->is_other = 1;
        return 1;
    }
    if (!has || look->header.rank < 0)
        return 0;
    if (look->head->first_ns == INT64_MAX)
        look->head->first_ns = look->header.dump_ns;
    if (!look->head->hostname[0])
        memcpy(look->head->hostname, look->header.hostname, sizeof(look->head->hostname));
    keep_largest(look);
    return 0;
}

/* Finds the rank, job and first time of a log; see struct pw_import_format. */
static int pw_inspector_look(const char *path, struct pw_import_head *out)
{
    struct look look = {.head = out, .parser = pw_json_parser_create(), .header = {.rank = -1}};
    const struct pw_jsonfile_taker taker = {
        .context = &look,
        .text = out->text,
        .lines = 1,
        .is_list = other_list,
        .member = other_member,
        .element = look_at_record,
    };
    struct pw_jsonfile_end end;
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    int err = look.parser ? pw_jsonfile_read(path, &taker, &end) : -ENOMEM;
    pw_json_parser_destroy(look.parser);
    if (!err && (look.is_other || look.records == 0))
        err = -EINVAL;
    if (!err && look.several) {
        snprintf(out->problem, sizeof(out->problem),
                 "has several ranks of one communicator, so its process used several GPUs: only "
                 "logs of processes with one GPU are read");
        err = -ENOTSUP;
    }
    return err;
}

struct inspector {
    struct pw_import_event event;
    struct pw_trace_window *window;
    struct pw_trace *trace;
    struct pw_inspector_header header; /* the last header that was read */
};

/* ---- one record ---- */

/* Returns a member of `part` by its name with the kind's prefix, such as "coll_sn" or "p2p_sn", or
 * NULL. */
static const struct pw_json_item *item_of(const struct inspector *s,
                                          const struct pw_json_item *part, const char *prefix,
                                          const char *name)
{
    char key[48];
    snprintf(key, sizeof(key), "%s%s", prefix, name);
    return pw_json_find_in(&s->event.object, part, key);
}

static uint32_t text_of(struct inspector *s, const struct pw_json_item *item)
{
    return item && item->type == PW_JSON_TEXT
               ? pw_names_find(&s->trace->names, item->text, item->length)
               : 0;
}

/* Names the group of an operation by communicator and function: NCCL numbers the operations of each
 * function separately, so each function is imported as a communicator of its own. */
static uint32_t name_group(struct inspector *s, const struct pw_json_item *function)
{
    char name[96];
    int n = snprintf(name, sizeof(name), "%s %.*s", s->header.id, (int)function->length,
                     function->text);
    return pw_names_find(&s->trace->names, name, (size_t)n < sizeof(name) ? (size_t)n : 95);
}

/* Sets count_in and count_out, in bytes, from NCCL's message size, which is that of all ranks or of
 * one rank, depending on the operation. */
static void set_bytes(struct pw_device_record *record, uint16_t op, int64_t bytes, int64_t nranks)
{
    int64_t all = -1;
    if (bytes < 0 || __builtin_mul_overflow(bytes, nranks, &all) || all > PW_LIMIT)
        return;
    int all_in = op == PW_OP_Reduce_scatter_block || op == PW_OP_Alltoall;
    int all_out = op == PW_OP_Allgather || op == PW_OP_Allgatherv || op == PW_OP_Alltoall;
    record->count_in = op == PW_OP_Recv ? 0 : all_in ? all : bytes;
    record->count_out = op == PW_OP_Send ? 0 : all_out ? all : bytes;
}

static int64_t get_us(const json_t *object, const char *key)
{
    enum { NS = 1000 };
    const json_t *value = json_object_get(object, key);
    int64_t us = json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
    return us > 0 && us <= PW_LIMIT / NS ? us * NS : 0;
}

/* Sets the record's times to the first start and the last end of the kernel's channels. Returns 0
 * when the log does not have these times. */
static int read_channels(const json_t *times, struct pw_device_record *record)
{
    const json_t *channels = json_object_get(times, "kernel_events");
    int64_t start = INT64_MAX, end = 0;
    for (size_t i = 0; i < json_array_size(channels); i++) {
        int64_t from = get_us(json_array_get(channels, i), "kernel_start_ts");
        int64_t to = get_us(json_array_get(channels, i), "kernel_stop_ts");
        start = from && from < start ? from : start;
        end = to > end ? to : end;
    }
    record->grid[0] = (int32_t)json_array_size(channels);
    if (start == INT64_MAX || end < start)
        return 0;
    record->start = start;
    record->end = end;
    record->timed = PW_TIMED_CHANNELS;
    return 1;
}

/* Sets the record's times: those of the kernel's channels, or else the time of the enqueueing, or
 * else the time at which the record was written. */
static void read_times(const struct inspector *s, const struct pw_json_item *part,
                       const char *prefix, struct pw_device_record *record)
{
    const struct pw_json_item *ran = item_of(s, part, prefix, "exec_time_us");
    const struct pw_json_item *text = pw_json_find_in(&s->event.object, part, "event_trace_ts");
    char key[48];
    if (ran && (pw_decimal_scale(ran->text, ran->length, 3, &record->ran_ns) || record->ran_ns < 0))
        record->ran_ns = 0;
    record->start = record->end = s->header.dump_ns;
    json_t *times = text ? json_loadb(text->text, text->length, 0, NULL) : NULL;
    if (!times)
        return;
    snprintf(key, sizeof(key), "%sstart_ts", prefix);
    int64_t asked = get_us(times, key);
    record->launch = asked ? asked : -1;
    if (!read_channels(times, record) && asked) /* no times of channels */
        record->start = record->end = asked;
    json_decref(times);
}

static int take_operation(struct inspector *s, const struct pw_json_item *part, const char *kind)
{
    char prefix[8];
    snprintf(prefix, sizeof(prefix), "%s_", kind);
    const struct pw_json_item *function = pw_json_find_in(&s->event.object, part, kind);
    struct pw_device_record record = {
        .type = PW_DEVICE_OPERATION,
        .timed = PW_TIMED_ENQUEUED,
        .device = -1,
        .seq = -1,
        .launch = -1,
        .count_in = -1,
        .count_out = -1,
        .grid = {-1, -1, -1},
    };
    int64_t number, bytes, peer;
    if (!function || function->type != PW_JSON_TEXT || !s->header.id[0] || s->header.rank < 0)
        return PW_OMIT_INCOMPLETE;
    struct pw_collective c = {
        .op = pw_collective_op(function->text, function->length),
        .group = name_group(s, function),
        .group_note = pw_names_find(&s->trace->names, s->header.name, strlen(s->header.name)),
        .group_size = (int32_t)s->header.nranks,
        .my_rank = (int32_t)s->header.rank,
        .element_bytes = 1,
        .peer = -1,
        .first = -1,
        .stride = -1,
        .algorithm = text_of(s, item_of(s, part, prefix, "algo")),
        .protocol = text_of(s, item_of(s, part, prefix, "proto")),
    };
    if (c.op == PW_OP_None)
        return PW_OMIT_UNKNOWN;
    if (pw_json_to_int(item_of(s, part, prefix, "peer"), &peer) == 0 && peer >= 0 &&
        peer < s->header.nranks)
        c.peer = (int32_t)peer;
    read_times(s, part, prefix, &record);
    if (record.start <= 0 || !pw_is_possible(record.end))
        return PW_OMIT_NO_TIME;
    if (pw_json_to_int(item_of(s, part, prefix, "msg_size_bytes"), &bytes) == 0)
        set_bytes(&record, c.op, bytes, s->header.nranks);
    if (pw_op_info(c.op)->cls == PW_CLASS_COLL &&
        pw_json_to_int(item_of(s, part, prefix, "sn"), &number) == 0 && number >= 0 &&
        number < PW_LIMIT)
        record.seq = number;
    record.collective = pw_collectives_find(&s->trace->collectives, &c);
    if (!record.collective)
        return PW_OMIT_INCOMPLETE;
    record.key[1] = record.start;
    record.stream = (uint32_t)record.seq; /* orders records with equal times by their number */
    pw_trace_add_device(s->window, &record);
    return 0;
}

/* Counts the records that the plugin dropped. */
static int take_stats(struct inspector *s, const struct pw_json_item *stats)
{
    static const char *const keys[] = {"coll_dropped_since_last_dump",
                                       "p2p_dropped_since_last_dump"};
    int64_t lost;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (pw_json_to_int(pw_json_find_in(&s->event.object, stats, keys[i]), &lost) == 0 &&
            lost > 0 && lost <= PW_LIMIT)
            s->trace->counts.lost = pw_sum(s->trace->counts.lost, lost);
    s->trace->counts.taken++;
    return 0;
}

static int take_record(void *context)
{
    struct inspector *s = context;
    const struct pw_json_item *coll = pw_json_find(&s->event.object, 0, "coll_perf");
    const struct pw_json_item *p2p = pw_json_find(&s->event.object, 0, "p2p_perf");
    const struct pw_json_item *stats = pw_json_find(&s->event.object, 0, "dump_stats");
    pw_inspector_header_read(&s->event.object, &s->header);
    if (coll)
        return take_operation(s, coll, "coll");
    if (p2p)
        return take_operation(s, p2p, "p2p");
    if (stats)
        return take_stats(s, stats);
    return pw_json_find(&s->event.object, 0, "proxy_trace") ? PW_OMIT_PROXY : PW_OMIT_UNKNOWN;
}

/* ---- the file ---- */

static int no_list(void *context, const char *key, size_t length)
{
    (void)context, (void)key, (void)length;
    return 0;
}

static int read_log(const char *path, struct pw_trace_window *window,
                    const struct pw_import_progress *progress, char *problem, size_t size)
{
    struct inspector *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct inspector){
        .event.take = take_record,
        .window = window,
        .trace = window->trace,
        .header = {.rank = -1},
    };
    const struct pw_jsonfile_taker taker = {
        .context = s,
        .lines = 1,
        .is_list = no_list,
        .member = pw_jsonfile_ignore_member,
        .element = pw_import_take_element,
        .progress = progress,
    };
    int err = pw_import_read_json(path, window, &taker, problem, size);
    free(s);
    return err;
}

static const char *const files[] = {"*-pid*.log", "*-pid*.log.gz", "*.jsonl", "*.jsonl.gz", NULL};

const struct pw_import_format pw_import_inspector = {
    .name = "inspector",
    .what = "logs of NCCL Inspector, in JSON",
    .files = files,
    .look = pw_inspector_look,
    .read = read_log,
};
