/* Reads the traces that torch.profiler exports; see kineto.h. */
#include "import/kineto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/jsonfile.h"
#include "import/kineto_head.h"
#include "import/kineto_take.h"

static int is_events(void *context, const char *key, size_t length)
{
    static const char wanted[] = "traceEvents";
    (void)context;
    return length == sizeof(wanted) - 1 && memcmp(key, wanted, length) == 0;
}

static int take_member(void *context, const char *key, size_t key_length, const char *value,
                       size_t length)
{
    struct pw_kineto *k = context;
    pw_kineto_member(k->window, k->parser, key, key_length, value, length);
    return 0;
}

static int take_element(void *context, const char *text, size_t length, int64_t offset)
{
    struct pw_kineto *k = context;
    struct pw_import_counts *counts = &k->trace->counts;
    counts->events++;
    int err = pw_json_parse(k->parser, text, length, &k->object), omitted;
    if (err == -ENOMEM)
        return err;
    if (err) {
        if (counts->first_malformed < 0)
            counts->first_malformed = offset;
        omitted = PW_OMIT_MALFORMED;
    } else {
        pw_kineto_event_sort(&k->index, &k->object, &k->event);
        omitted = k->event.duplicate ? PW_OMIT_DUPLICATE_KEY : pw_kineto_take(k);
    }
    if (omitted)
        pw_trace_omit(k->trace, (enum pw_omission)omitted);
    return 0;
}

static void tell_progress(void *context, int64_t file_bytes)
{
    struct pw_kineto *k = context;
    if (k->progress)
        k->progress(k->context, file_bytes);
}

static int read_trace(const char *path, struct pw_trace_window *window,
                      void (*progress)(void *context, int64_t file_bytes), void *context,
                      char *problem, size_t size)
{
    struct pw_kineto *k = calloc(1, sizeof(*k));
    if (!k)
        return -ENOMEM;
    *k = (struct pw_kineto){
        .window = window,
        .trace = window->trace,
        .parser = pw_json_parser_create(),
        .last = {.lane = -1},
        .progress = progress,
        .context = context,
    };
    pw_kineto_index_init(&k->index);
    const struct pw_jsonfile_taker taker = {
        .context = k,
        .is_list = is_events,
        .member = take_member,
        .element = take_element,
        .progress = tell_progress,
    };
    int err = k->parser ? pw_import_read_json(path, window, &taker, problem, size) : -ENOMEM;
    pw_json_parser_destroy(k->parser);
    free(k);
    return err;
}

static const char *const files[] = {"*.json", "*.json.gz", NULL};

const struct pw_import_format pw_import_kineto = {
    .name = "kineto",
    .what = "traces of torch.profiler (Chrome trace events, .json or .json.gz)",
    .files = files,
    .look = pw_kineto_look,
    .read = read_trace,
};
