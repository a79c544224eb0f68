/* Reads dumps of PyTorch's Flight Recorder; see format.h. An entry has the time at which the
 * program called an operation and, when PyTorch timed the operation, its duration. Its start and
 * end are not known. */
#include "import/trace/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "core/limits.h"
#include "core/ops.h"
#include "core/safefile.h"
#include "core/tables.h"
#include "import/parsers/jsonfile.h"
#include "import/parsers/jsonobject.h"

static int is_key(const char *key, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(key, wanted, length) == 0;
}

/* ---- whose dump it is ---- */

struct look {
    struct pw_import_head *head;
    struct pw_json_parser *parser;
    int has_entries, is_flight, is_other;
    int has_version, has_any; /* the member "version", an entry */
};

/* Returns 1 for every list, so that lists other than "entries" are skipped element by element and
 * never kept whole in memory. */
static int is_list(void *context, const char *key, size_t length)
{
    struct look *look = context;
    int ours = is_key(key, length, "entries");
    look->has_entries |= ours;
    look->is_other |= !ours && !look->has_entries;
    return 1;
}

/* Reads a list of ranks: the string "[0, 1]", as PyTorch writes it, or a JSON array. Returns the
 * number of ranks, 0 when it is not a valid list. */
static size_t read_ranks(const json_t *ranks, int32_t *out, size_t max)
{
    size_t n = json_array_size(ranks);
    json_t *list = json_is_string(ranks) ? json_loads(json_string_value(ranks), 0, NULL) : NULL;
    const json_t *array = list ? list : ranks;
    n = json_array_size(array);
    n = n <= max ? n : 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *rank = json_array_get(array, i);
        int64_t number = json_is_integer(rank) ? (int64_t)json_integer_value(rank) : -1;
        out[i] = number >= 0 && number < 1 << 24 ? (int32_t)number : -1;
        if (out[i] < 0)
            n = 0;
    }
    json_decref(list);
    return n;
}

/* A group without a name, of which a rank has one that may be any, tells only how large the job is
 * at least. */
static void add_group(struct pw_import_head *head, const char *name, const json_t *config)
{
    enum { MOST_RANKS = 1 << 20 };
    const json_t *ranks = json_object_get(config, "ranks");
    size_t most = json_is_string(ranks) ? json_string_length(ranks) : json_array_size(ranks);
    most = most < MOST_RANKS ? most : MOST_RANKS;
    int32_t *members = calloc(most + 1, sizeof(*members));
    size_t n = members ? read_ranks(ranks, members, most) : 0;
    int64_t *size = name[0] ? &head->world_size : &head->least_size;
    for (size_t i = 0; i < n; i++) /* the largest rank gives the size */
        if (members[i] >= *size)
            *size = members[i] + 1;
    struct pw_group *more =
        n && name[0] ? realloc(head->groups, (head->ngroups + 1) * sizeof(*more)) : NULL;
    if (!more) {
        free(members);
        return;
    }
    head->groups = more;
    struct pw_group *group = &more[head->ngroups++];
    *group = (struct pw_group){.members = members, .size = n};
    snprintf(group->name, sizeof(group->name), "%s", name);
}

static int look_at_member(void *context, const char *key, size_t key_length, const char *value,
                          size_t length)
{
    struct look *look = context;
    const char *name;
    json_t *groups, *group;
    int64_t rank;
    if (is_key(key, key_length, "rank") && pw_decimal_scale(value, length, 0, &rank) == 0 &&
        rank >= 0 && rank < 1 << 24)
        look->head->rank = rank;
    look->has_version |= is_key(key, key_length, "version") && value[0] == '"';
    if (!is_key(key, key_length, "pg_config"))
        return 0;
    groups = json_loadb(value, length, 0, NULL);
    look->is_flight |= json_is_object(groups);
    json_object_foreach(groups, name, group)
    {
        look->head->has_unnamed_groups |= !name[0];
        add_group(look->head, name, group);
    }
    json_decref(groups);
    return 0;
}

static int is_text(const struct pw_json_item *item, const char *word)
{
    return item && item->type == PW_JSON_TEXT && is_key(item->text, item->length, word);
}

/* Whether the operation has ended. Backends other than NCCL leave the state at "scheduled" and set
 * `retired` when the operation is done (Gloo) or begun (PyTorch's hooks for others). In NCCL an
 * operation that is retired and not completed has timed out. */
static int has_ended(const struct pw_json_object *entry)
{
    const struct pw_json_item *retired = pw_json_find(entry, 0, "retired");
    const struct pw_json_item *state = pw_json_find(entry, 0, "state");
    const struct pw_json_item *name = pw_json_find(entry, 0, "profiling_name");
    if (is_text(state, "completed"))
        return 1;
    const int is_nccl = !name || (name->length > 5 && memcmp(name->text, "nccl:", 5) == 0);
    return !is_nccl && is_text(state, "scheduled") && retired && retired->length == 4 &&
           memcmp(retired->text, "true", 4) == 0;
}

/* Whether no member leaves the operation before all have begun it. */
static int is_symmetric(const struct pw_json_object *entry)
{
    const struct pw_json_item *name = pw_json_find(entry, 0, "profiling_name");
    const char *colon = name ? memchr(name->text, ':', name->length) : NULL;
    const uint16_t op =
        colon ? pw_collective_op(colon + 1, (size_t)(name->text + name->length - colon - 1))
              : PW_OP_None;
    return op == PW_OP_Allreduce || op == PW_OP_Allgather || op == PW_OP_Alltoall ||
           op == PW_OP_Barrier || op == PW_OP_Reduce_scatter_block;
}

/* Keeps the group of a collective, of the first 1000 groups; all ranks are in the default group.
 * Messages are of two members only. */
static void note_group(struct pw_import_head *head, const struct pw_json_object *object)
{
    enum { MOST = 1000 };
    const struct pw_json_item *group = pw_json_find(object, 0, "process_group");
    const char *name;
    struct pw_used_group one = {.has_open = !has_ended(object)};
    one.has_ended = !one.has_open && is_symmetric(object);
    const size_t length =
        group && group->type == PW_JSON_ARRAY ? pw_json_first_text(group, &name) : 0;
    const struct pw_json_item *p2p = pw_json_find(object, 0, "is_p2p");
    if (!length || length >= sizeof(one.name) || (p2p && p2p->length == 4) ||
        memmem(group->text, group->length, "\"default_pg\"", 12))
        return;
    memcpy(one.name, name, length);
    for (size_t i = 0; i < head->nused; i++)
        if (strcmp(head->used[i].name, one.name) == 0) {
            head->used[i].has_ended |= one.has_ended;
            head->used[i].has_open |= one.has_open;
            return;
        }
    void *more = head->nused < MOST ? realloc(head->used, (head->nused + 1) * sizeof(one)) : NULL;
    if (!more) {
        head->has_lost = 1;
        return;
    }
    head->used = more;
    head->used[head->nused++] = one;
}

static int look_at_entry(void *context, const char *text, size_t length, int64_t offset)
{
    struct look *look = context;
    struct pw_json_object object;
    int64_t time;
    (void)offset;
    if (!look->has_entries || look->is_other)
        return 1;
    look->has_any = 1;
    if (!look->parser || pw_json_parse(look->parser, text, length, &object))
        return 0;
    look->is_flight |= pw_json_find(&object, 0, "profiling_name") != NULL;
    if (look->head->first_ns == INT64_MAX) {
        /* PyTorch numbers all operations, and keeps the last ones. */
        if (pw_json_to_int(pw_json_find(&object, 0, "record_id"), &time) || time > 0)
            look->head->has_lost = 1;
        if (pw_json_to_int(pw_json_find(&object, 0, "time_created_ns"), &time) == 0)
            look->head->first_ns = time;
    }
    note_group(look->head, &object);
    return 0;
}

/* Unpacking a pickle can run code in it, so this importer does not. */
int pw_flight_is_pickle(const char *path)
{
    unsigned char first[2] = {0};
    int fd = pw_open_regular(path, 0);
    ssize_t n = fd >= 0 ? read(fd, first, sizeof(first)) : 0;
    if (fd >= 0)
        close(fd);
    return n == 2 && first[0] == 0x80 && first[1] >= 2 && first[1] <= 5;
}

static int look_at(const char *path, struct pw_import_head *out)
{
    struct look look = {.head = out, .parser = pw_json_parser_create()};
    const struct pw_jsonfile_taker taker = {
        .context = &look,
        .text = out->text,
        .is_list = is_list,
        .member = look_at_member,
        .element = look_at_entry,
    };
    struct pw_jsonfile_end end;
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    int err = look.parser ? pw_jsonfile_read(path, &taker, &end) : -ENOMEM;
    pw_json_parser_destroy(look.parser);
    if (err == -EINVAL && pw_flight_is_pickle(path)) {
        snprintf(out->problem, sizeof(out->problem),
                 "is a pickle; python3 -m profwrap.flight FILE converts it to JSON without running "
                 "code in it");
        return -ENOTSUP;
    }
    look.is_flight |= look.has_version && look.has_entries && !look.has_any;
    out->has_lost |=
        out->first_ns == INT64_MAX; /* of an empty dump it is not known what was lost */
    out->is_other = (!err && end.cut_at < 0 && (look.is_other || !look.is_flight)) ||
                    (err == -EINVAL && end.is_scalar);
    return !err && (look.is_other || !look.is_flight) ? -EINVAL : err;
}

/* ---- its operations ---- */

/* How far the rank is in a process group. */
struct progress {
    int64_t id;          /* pg_id */
    int64_t last;        /* number of its last collective in the list; -1: none */
    int64_t told;        /* number of the last one that was enqueued, by pg_status; -1: not told */
    uint32_t collective; /* of the trace: one of the group; 0: none */
    int has_messages;    /* these have numbers of their own, which pg_status may mean */
};

struct flight {
    struct pw_import_event event;
    struct pw_trace_window *window;
    struct pw_trace *trace;
    int has_entries;
    struct progress *groups;
    size_t ngroups;
    /* The last operations that have not ended as far as is known. In a coalesced group only the
     * group's record, which follows its operations, has their state. */
    struct {
        int64_t group, seq, p2p;
        struct pw_device_record *items;
        size_t n, capacity;
    } open;
};

static const struct pw_json_item *item_of(const struct flight *f, const char *key)
{
    return pw_json_find(&f->event.object, 0, key);
}

static int64_t int_of(const struct flight *f, const char *key)
{
    int64_t value;
    return pw_json_to_int(item_of(f, key), &value) || value < 0 || value > PW_LIMIT ? -1 : value;
}

static uint32_t keep(struct flight *f, const char *text, size_t length)
{
    return pw_names_find(&f->trace->names, text, length);
}

/* Returns NULL for a group that is not among the first 1000, and when memory is short. */
static struct progress *progress_of(struct flight *f, int64_t id)
{
    enum { MOST = 1000 };
    for (size_t i = f->ngroups; i > 0; i--)
        if (f->groups[i - 1].id == id)
            return &f->groups[i - 1];
    struct progress *more =
        f->ngroups < MOST ? realloc(f->groups, (f->ngroups + 1) * sizeof(*more)) : NULL;
    if (!more)
        return NULL;
    f->groups = more;
    f->groups[f->ngroups] = (struct progress){.id = id, .last = -1, .told = -1};
    return &f->groups[f->ngroups++];
}

/* `collective`: 0 for an entry that is not imported, which has a number, too. */
static void note_progress(struct flight *f, uint32_t collective, int is_nccl)
{
    const int64_t id = int_of(f, "pg_id"), seq = int_of(f, "collective_seq_id");
    const struct pw_json_item *message = item_of(f, "is_p2p");
    struct progress *group = id < 0 ? NULL : progress_of(f, id);
    if (!group)
        return;
    /* Gloo's messages are not in the list, and have numbers, too. */
    if (!is_nccl || (message && is_key(message->text, message->length, "true"))) {
        group->has_messages = 1;
        return;
    }
    group->collective = collective ? collective : group->collective;
    group->last = seq > group->last ? seq : group->last;
}

/* {"0": {"last_enqueued_collective": 6, ...}}, by pg_id. */
static void read_status(struct flight *f, const char *text, size_t length)
{
    const char *key;
    json_t *all = json_loadb(text, length, 0, NULL), *one;
    json_object_foreach(all, key, one)
    {
        char *end;
        const json_t *told = json_object_get(one, "last_enqueued_collective");
        const long long id = strtoll(key, &end, 10);
        struct progress *group = *key && !*end && json_is_integer(told) ? progress_of(f, id) : NULL;
        if (group && json_integer_value(told) <= PW_LIMIT)
            group->told = json_integer_value(told);
    }
    json_decref(all);
}

/* The list may end before what the rank began last: then it is not known what else the rank has
 * begun. */
static void compare_status(struct flight *f)
{
    struct pw_import_counts *counts = &f->trace->counts;
    for (size_t i = 0; i < f->ngroups; i++) {
        const struct progress *group = &f->groups[i];
        if (!group->collective || group->has_messages || group->last < 0 ||
            group->told <= group->last)
            continue;
        const struct pw_collective *c =
            pw_collectives_borrow(&f->trace->collectives, group->collective);
        if (counts->cut_groups++ == 0)
            snprintf(
                counts->first_cut, sizeof(counts->first_cut), "operation %lld of %.60s",
                (long long)group->told,
                pw_rankfile_borrow_text(f->trace->file, c->group_note ? c->group_note : c->group));
    }
}

/* Reads the group's name and description from ["0", "default_pg"]. */
static void read_group(struct flight *f, struct pw_collective *c)
{
    const struct pw_json_item *group = item_of(f, "process_group");
    const char *name;
    if (!group || group->type != PW_JSON_ARRAY)
        return;
    size_t n = pw_json_first_text(group, &name);
    c->group = keep(f, name, n);
    if (!n)
        return;
    struct pw_json_item rest = *group;
    rest.text = name + n + 1;
    rest.length = (uint32_t)(group->text + group->length - rest.text);
    n = pw_json_first_text(&rest, &name);
    c->group_note = keep(f, name, n);
}

static const struct pw_group *find_group(const struct flight *f, uint32_t name)
{
    const char *text = pw_rankfile_borrow_text(f->trace->file, name);
    for (size_t i = 0; i < f->trace->ngroups; i++)
        if (strcmp(f->trace->groups[i].name, text) == 0)
            return &f->trace->groups[i];
    return NULL;
}

static int is_default(const struct flight *f, uint32_t note)
{
    return strcmp(pw_rankfile_borrow_text(f->trace->file, note), "default_pg") == 0;
}

/* Reads the operation from an entry's name: "nccl:all_reduce", or "nccl:send 0->1". The last number
 * is the peer's rank in the group. */
static void read_name(const struct pw_json_item *name, struct pw_collective *c)
{
    const char *colon = memchr(name->text, ':', name->length), *end = name->text + name->length;
    c->library =
        name->length > 5 && memcmp(name->text, "gloo:", 5) == 0 ? PW_LIBRARY_GLOO : PW_LIBRARY_NCCL;
    const char *at = colon ? colon + 1 : name->text, *digits = end;
    c->op = pw_collective_op(at, (size_t)(end - at));
    if (c->op != PW_OP_Send && c->op != PW_OP_Recv)
        return;
    while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    struct pw_json_item number = {
        .text = digits, .length = (uint32_t)(end - digits), .type = PW_JSON_NUMBER};
    int64_t peer;
    if (pw_json_to_int(&number, &peer) == 0 && peer < 1 << 24)
        c->peer = (int32_t)peer;
}

static uint32_t read_collective(struct flight *f, const struct pw_json_item *name,
                                int64_t *count_in, int64_t *count_out)
{
    struct pw_collective c = {
        .peer = -1, .first = -1, .stride = -1, .my_rank = -1, .group_size = -1};
    const struct pw_json_item *types = item_of(f, "input_dtypes");
    const char *type = "";
    size_t length = types && types->type == PW_JSON_ARRAY ? pw_json_first_text(types, &type) : 0;
    read_name(name, &c);
    read_group(f, &c);
    const struct pw_group *group = find_group(f, c.group);
    c.group_size = group ? (int32_t)group->size : -1;
    /* With Gloo, PyTorch records the ranks of a group before it has the group's name, so pg_config
     * has them under "". But the default group always has all ranks. */
    if (!group && f->trace->has_unnamed_groups && is_default(f, c.group_note))
        c.group_size = f->trace->world_size;
    c.element_bytes = pw_collective_element(type, length);
    c.datatype = keep(f, type, length);
    *count_in = pw_json_count_elements(item_of(f, "input_sizes"));
    *count_out = pw_json_count_elements(item_of(f, "output_sizes"));
    return c.op == PW_OP_None ? 0 : pw_collectives_find(&f->trace->collectives, &c);
}

/* Notes an operation that has not ended, as far as is known yet. */
static void note_unfinished(struct flight *f, const struct pw_json_item *name)
{
    struct pw_import_counts *counts = &f->trace->counts;
    char text[64];
    if (f->open.n == 0 && counts->unfinished == 0)
        snprintf(counts->first_unfinished, sizeof(counts->first_unfinished), "%s, number %lld",
                 pw_json_copy(name, text, sizeof(text)), (long long)f->open.seq);
}

/* Keeps the record of an operation that has not ended as far as is known. When memory is short, it
 * is one that has ended. */
static void keep_open(struct flight *f, const struct pw_device_record *record)
{
    if (f->open.n == f->open.capacity) {
        const size_t capacity = f->open.capacity ? 2 * f->open.capacity : 16;
        void *more = realloc(f->open.items, capacity * sizeof(*f->open.items));
        if (!more) {
            pw_trace_add_device(f->window, record);
            return;
        }
        f->open.items = more;
        f->open.capacity = capacity;
    }
    f->open.items[f->open.n++] = *record;
}

/* Settles the noted operations: they count as unfinished when this entry is not of their group, and
 * as ended when it is and has completed. */
static void settle(struct flight *f, int same_group, int completed)
{
    if (same_group && !completed)
        return;
    if (!same_group)
        f->trace->counts.unfinished += (int64_t)f->open.n;
    for (size_t i = 0; i < f->open.n; i++) {
        f->open.items[i].is_open = !same_group;
        pw_trace_add_device(f->window, &f->open.items[i]);
    }
    f->open.n = 0;
}

/* Returns 1 when the operation has not ended as far as is known. */
static int follow_state(struct flight *f, const struct pw_json_item *name, int is_group)
{
    int64_t group = int_of(f, "pg_id"), seq = int_of(f, "collective_seq_id");
    int64_t p2p = int_of(f, "p2p_seq_id");
    int completed = has_ended(&f->event.object);
    int same = f->open.n > 0 && f->open.group == group && f->open.seq == seq && f->open.p2p == p2p;
    if (!same || is_group)
        settle(f, same, completed);
    f->open.group = group;
    f->open.seq = seq;
    f->open.p2p = p2p;
    if (!completed && !is_group)
        note_unfinished(f, name);
    return !completed;
}

static int take_entry(void *context)
{
    struct flight *f = context;
    const struct pw_json_item *name = item_of(f, "profiling_name");
    const struct pw_json_item *ran = item_of(f, "duration_ms");
    struct pw_device_record record = {
        .type = PW_DEVICE_OPERATION,
        .timed = PW_TIMED_ENQUEUED,
        .start = int_of(f, "time_created_ns"),
        .device = -1,
        .seq = -1,
        .grid = {-1, -1, -1},
    };
    if (!name || name->type != PW_JSON_TEXT)
        return PW_OMIT_INCOMPLETE;
    if (record.start <= 0)
        return PW_OMIT_NO_TIME;
    record.collective = read_collective(f, name, &record.count_in, &record.count_out);
    const int is_open = follow_state(f, name, !record.collective);
    note_progress(f, record.collective, name->length > 5 && memcmp(name->text, "nccl:", 5) == 0);
    if (!record.collective)
        return memmem(name->text, name->length, "coalesced", 9) ? PW_OMIT_GROUP : PW_OMIT_FUNCTION;
    const struct pw_collective *c =
        pw_collectives_borrow(&f->trace->collectives, record.collective);
    /* Without the group's ranks, a number cannot be matched with other ranks' numbers. */
    if (c->group_size > 0 && pw_op_info(c->op)->cls == PW_CLASS_COLL)
        record.seq = int_of(f, "collective_seq_id");
    if (ran && (pw_decimal_scale(ran->text, ran->length, 6, &record.ran_ns) || record.ran_ns < 0))
        record.ran_ns = 0;
    record.external = (uint64_t)(int_of(f, "record_id") + 1);
    record.end = record.launch = record.start;
    record.key[1] = record.start;
    if (is_open)
        keep_open(f, &record);
    else
        pw_trace_add_device(f->window, &record);
    return 0;
}

static int read_is_list(void *context, const char *key, size_t length)
{
    struct flight *f = context;
    f->has_entries = is_key(key, length, "entries");
    return 1;
}

static int read_member(void *context, const char *key, size_t key_length, const char *value,
                       size_t length)
{
    struct flight *f = context;
    int quoted = length >= 2 && value[0] == '"';
    if (is_key(key, key_length, "pg_status"))
        read_status(f, value, length);
    if (f->trace->described)
        return 0;
    struct pw_row_metadata row = {
        .key = keep(f, key, key_length),
        .value = keep(f, value + quoted, length - 2 * (size_t)quoted),
    };
    pw_rankfile_append(f->trace->file, PW_TABLE_metadata, &row);
    return 0;
}

static int read_entry(void *context, const char *text, size_t length, int64_t offset)
{
    const struct flight *f = context;
    return f->has_entries ? pw_import_take_element(context, text, length, offset) : 0;
}

static int read_dump(const char *path, struct pw_trace_window *window,
                     const struct pw_import_progress *progress, char *problem, size_t size)
{
    struct flight *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    *f = (struct flight){
        .event.take = take_entry,
        .window = window,
        .trace = window->trace,
    };
    const struct pw_jsonfile_taker taker = {
        .context = f,
        .is_list = read_is_list,
        .member = read_member,
        .element = read_entry,
        .progress = progress,
    };
    int err = pw_import_read_json(path, window, &taker, problem, size);
    settle(f, 0, 0);
    compare_status(f);
    free(f->groups);
    free(f->open.items);
    free(f);
    return err;
}

static const char *const files[] = {"*.json", "*.json.gz", NULL};

const struct pw_import_format pw_import_flight = {
    .name = "flight",
    .what = "dumps of PyTorch's Flight Recorder, in JSON",
    .files = files,
    .look = look_at,
    .read = read_dump,
};
