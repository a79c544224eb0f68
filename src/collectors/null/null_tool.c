/* Module null, tool half: a worked example to copy; see docs/HOWTO_add_collector.md. It counts
 * the marks that the application made with pw_null_mark() and the samples that it was asked for,
 * and writes both counts into /overhead at the end. */
#include "collectors/modules.h"

#include <stdlib.h>

struct state {
    struct pw_rankfile *file;
    int64_t marks, value_sum, samples;
};

static void *create(struct pw_rankfile *file)
{
    struct state *s = calloc(1, sizeof(*s));
    if (s)
        s->file = file;
    return s;
}

/* A module with a table of its own would append a row here. `origin` has the record's times in
 * ns, its thread, and the base rows for pw_origin_name(). */
static void record(void *state, const struct pw_record *record, const struct pw_origin *origin)
{
    struct state *s = state;
    (void)origin;
    s->marks++;
    s->value_sum += record->mark.value;
}

static void sample(void *state, pid_t pid, int64_t now_ns)
{
    struct state *s = state;
    (void)pid, (void)now_ns;
    s->samples++;
}

static void finish(void *state, int64_t end_ns)
{
    struct state *s = state;
    (void)end_ns;
    pw_rankfile_overhead(s->file, "null_marks", (double)s->marks, "marks");
    pw_rankfile_overhead(s->file, "null_value_sum", (double)s->value_sum, "1");
    pw_rankfile_overhead(s->file, "null_samples", (double)s->samples, "samples");
}

const struct pw_module pw_module_null = {
    PW_MODULE_RECORDS("null", PW_ACTIVITY_NULL, PW_REC_MARK, PW_REC_MARK),
    PW_MODULE_FUNCTIONS(create, record, finish, free),
    .sample = sample,
};
