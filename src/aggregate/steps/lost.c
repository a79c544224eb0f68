/* When records of a rank were lost, for its step trace, its bins and its amounts of work; see
 * lost.h. */
#include "aggregate/steps/lost.h"

#include <string.h>

#include "aggregate/input/missing.h"
#include "core/limits.h"

struct finding {
    unsigned kinds;
    struct pw_spans *out;
};

static void add_row(void *context, const struct pw_row_gap *row)
{
    const struct finding *f = context;
    const int is_lost =
        row->lost > 0 && row->reason != PW_REASON_NO_RING && row->reason != PW_REASON_CUPTI_FULL &&
        row->reason != PW_REASON_ROCPROFILER_FULL && row->reason != PW_REASON_NVML_LATE;
    if (is_lost && row->kind <= PW_LOST_DEVICE && f->kinds >> row->kind & 1 &&
        pw_is_possible(row->start) && pw_is_possible(row->end))
        pw_spans_add(f->out, row->start, row->end + 1);
}

void pw_lost_find(const struct pw_input *input, unsigned kinds, struct pw_spans *out)
{
    struct finding f = {kinds, out};
    if (input->dropped)
        pw_gaps_visit(input, add_row, &f);
    pw_spans_join(out);
}

int pw_lost_in(struct pw_spans *lost, const struct pw_row_step *step)
{
    return pw_spans_within(lost, (struct pw_interval){step->start, step->end}) > 0;
}

void pw_lost_find_work(const struct pw_input *input, struct pw_spans *out)
{
    const unsigned kinds = 1U << PW_LOST_COMMUNICATION | 1U << PW_LOST_STEP;
    struct pw_spans amounts = {0};
    size_t known = 0;
    pw_lost_find(input, kinds, out);
    if (!input->dropped || !input->work_rows.rows)
        return;
    pw_lost_find(input, kinds | 1U << PW_LOST_RANGE, &amounts);
    for (size_t i = 0; i < input->nsteps; i++)
        known += !pw_lost_in(&amounts, &input->steps[i]);
    if (known) {
        pw_spans_fini(&amounts);
        return;
    }
    pw_spans_fini(out);
    *out = amounts;
}

void pw_lost_clear_bins(const struct pw_spans *lost, const struct pw_input *input,
                        const struct pw_world *world, struct pw_row_c_bin_trace *bins)
{
    const struct pw_binning *of = &world->bins;
    for (size_t i = 0; i < lost->n && of->n; i++) {
        const int64_t start = pw_input_time(input, lost->v[i].start);
        const int64_t end = pw_input_time(input, lost->v[i].end);
        const int64_t from = (start - of->start_ns) / of->bin_ns;
        for (size_t b = from > 0 ? (size_t)from : 0; b < of->n; b++) {
            if (of->start_ns + (int64_t)b * of->bin_ns >= end)
                break;
            memset(&bins[b], 0xff, sizeof(bins[b]));
        }
    }
}
