/* Headers of NCCL Inspector's records; see inspector_header.h. */
#include "import/inspector_header.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/limits.h"
#include "import/jsonfile.h"

int pw_inspector_header_read(const struct pw_json_object *record, struct pw_inspector_header *out)
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

static int no_list(void *context, const char *key, size_t length)
{
    struct look *look = context;
    (void)key, (void)length;
    look->is_other = 1;
    return 1;
}

static int no_member(void *context, const char *key, size_t key_length, const char *value,
                     size_t length)
{
    struct look *look = context;
    (void)key, (void)key_length, (void)value, (void)length;
    look->is_other = 1;
    return 1;
}

/* The largest communicator is taken to have all ranks of the job. */
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

int pw_inspector_look(const char *path, struct pw_import_head *out)
{
    struct look look = {.head = out, .parser = pw_json_parser_create(), .header = {.rank = -1}};
    const struct pw_jsonfile_taker taker = {
        .context = &look,
        .lines = 1,
        .is_list = no_list,
        .member = no_member,
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
                 "has several ranks of one communicator, as a process with several GPUs writes it: "
                 "only logs of processes with one are read");
        err = -ENOTSUP;
    }
    return err;
}
