/* What formats give of one profiling window; see trace.h. */
#include "import/trace.h"

#include <errno.h>
#include <string.h>

#include "core/limits.h"
#include "import/rows.h"

enum { HOST_MEMORY = 24 << 20, DEVICE_MEMORY = 16 << 20 };

const char *pw_omission_words(enum pw_omission reason)
{
    static const char *const words[PW_OMISSIONS] = {
        [PW_OMIT_NOTHING] = "",
        [PW_OMIT_FLOW] = "arrows between events (what they join is found by its number)",
        [PW_OMIT_GPU_ANNOTATION] = "annotations on GPU streams (the host's are taken)",
        [PW_OMIT_CUDA_CALL] = "calls of the CUDA runtime (not launches; --cuda-calls takes all)",
        [PW_OMIT_HINT] = "hints of how a viewer is to sort and name things",
        [PW_OMIT_MARK] = "marks without a length",
        [PW_OMIT_UNKNOWN] = "events of categories that are not known",
        [PW_OMIT_MALFORMED] = "events that are no JSON objects",
        [PW_OMIT_NO_TIME] = "events without a possible time and length",
        [PW_OMIT_DUPLICATE_KEY] = "events that say one thing twice",
        [PW_OMIT_INCOMPLETE] = "events without what their category needs",
        [PW_OMIT_GROUP] = "records of groups of operations (the operations are taken)",
        [PW_OMIT_PROXY] = "records of NCCL's proxy threads",
    };
    return words[reason];
}

int pw_trace_window_create(struct pw_trace *trace, struct pw_trace_window *out)
{
    *out = (struct pw_trace_window){.trace = trace, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
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

void pw_trace_omit(struct pw_trace *trace, enum pw_omission reason)
{
    trace->counts.omitted[reason]++;
}

/* The window is at least what was recorded in it. */
static void extend(struct pw_trace_window *window, int64_t start, int64_t end)
{
    window->start_ns = start < window->start_ns ? start : window->start_ns;
    window->end_ns = end > window->end_ns ? end : window->end_ns;
}

void pw_trace_add_host(struct pw_trace_window *window, const struct pw_host_record *record)
{
    window->calls += record->type == PW_HOST_CALL && record->id;
    extend(window, record->start, -record->minus_end);
    pw_sorter_add(window->host, record);
    window->trace->counts.taken++;
}

void pw_trace_add_device(struct pw_trace_window *window, const struct pw_device_record *record)
{
    extend(window, record->start, record->end);
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
