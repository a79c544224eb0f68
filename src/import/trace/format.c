/* The table of formats, and the reading of JSON files that all formats share; see format.h. */
#include "import/trace/format.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/choices.h"
#include "import/parsers/jsonfile.h"

static const struct pw_import_format *const formats[] = {
#define FORMAT(name, remark, format) &format,
    PW_IMPORT_FORMATS(FORMAT, FORMAT)
#undef FORMAT
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct pw_import_format *pw_import_format_borrow(size_t number)
{
    return number < FORMATS ? formats[number] : NULL;
}

const struct pw_import_format *pw_import_format_find(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

int pw_import_is_file(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        for (const char *const *file = formats[i]->files; *file; file++)
            if (fnmatch(*file, name, 0) == 0)
                return 1;
    return 0;
}

int pw_import_take_element(void *context, const char *text, size_t length, int64_t offset)
{
    struct pw_import_event *event = context;
    struct pw_import_counts *counts = &event->trace->counts;
    counts->events++;
    int err = pw_json_parse(event->parser, text, length, &event->object);
    if (err == -ENOMEM)
        return err;
    if (err && counts->first_malformed < 0)
        counts->first_malformed = offset;
    int omitted = err ? PW_OMIT_MALFORMED : event->take(context);
    if (omitted)
        pw_trace_omit(event->trace, (enum pw_omission)omitted);
    return 0;
}

int pw_import_read_json(const char *path, struct pw_trace_window *window,
                        const struct pw_jsonfile_taker *taker, char *problem, size_t size)
{
    struct pw_import_event *event = taker->context;
    struct pw_jsonfile_end end = {.cut_at = -1};
    struct pw_jsonfile_taker with = *taker;
    if (window->text)
        with.text = *window->text;
    event->trace = window->trace;
    event->parser = pw_json_parser_create();
    int err = event->parser ? pw_jsonfile_read(path, &with, &end) : -ENOMEM;
    pw_json_parser_destroy(event->parser);
    window->trace->counts.bytes += end.json_bytes;
    if (!err && end.cut_at >= 0) {
        window->trace->counts.cut_files++;
        snprintf(problem, size, "%s, at byte %lld of the JSON", end.problem, (long long)end.cut_at);
    }
    return err;
}

void pw_import_head_fini(struct pw_import_head *head)
{
    for (size_t i = 0; i < head->ngroups; i++)
        free(head->groups[i].members);
    free(head->groups);
    free(head->used);
    head->groups = NULL;
    head->used = NULL;
    head->ngroups = head->nused = 0;
}

/* Returns the ranks of the array, n > 0; NULL when one is none or memory is short. */
static int32_t *read_ranks(const json_t *ranks, size_t n)
{
    int32_t *members = calloc(n, sizeof(*members));
    for (size_t i = 0; members && i < n; i++) {
        const json_t *rank = json_array_get(ranks, i);
        int64_t number = json_is_integer(rank) ? (int64_t)json_integer_value(rank) : -1;
        if (number < 0 || number >= 1 << 24) {
            free(members);
            return NULL;
        }
        members[i] = (int32_t)number;
    }
    return members;
}

struct pw_group *pw_import_add_group(struct pw_import_head *head, const char *name,
                                     const json_t *ranks)
{
    const size_t n = json_array_size(ranks);
    struct pw_group *more = realloc(head->groups, (head->ngroups + 1) * sizeof(*more));
    if (!more)
        return NULL;
    head->groups = more;
    int32_t *members = n ? read_ranks(ranks, n) : NULL;
    if (n && !members)
        return NULL;
    struct pw_group *group = &head->groups[head->ngroups++];
    *group = (struct pw_group){.members = members, .size = n};
    snprintf(group->name, sizeof(group->name), "%s", name);
    return group;
}

void pw_import_add_group_name(struct pw_import_head *head, const char *name)
{
    if (!name || !*name)
        return;
    for (size_t i = 0; i < head->ngroups; i++)
        if (strcmp(head->groups[i].name, name) == 0)
            return;
    pw_import_add_group(head, name, NULL);
}
