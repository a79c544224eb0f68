/* Finds the phase in which a rank held the job back for a stretch of the run; see stretch.h. */
#include "analysis/statistics.h"
#include "analysis/stretch.h"
#include "analysis/thresholds.h"

/* 1 when the cause delays a rank in every phase alike, so that the phase says nothing. */
static int is_in_any_phase(enum pw_cause cause)
{
    return cause == PW_CAUSE_STOPPED || cause == PW_CAUSE_HOST_FROZEN ||
           cause == PW_CAUSE_CGROUP_THROTTLING || cause == PW_CAUSE_CPU_CONTENTION;
}

static int64_t phase_of(const struct pw_row_c_bin_trace *row, enum pw_phase phase)
{
    const int64_t own[] = {
        [PW_PHASE_DATA] = row->data_ns,           [PW_PHASE_FORWARD] = row->forward_ns,
        [PW_PHASE_BACKWARD] = row->backward_ns,   [PW_PHASE_ALLREDUCE] = row->allreduce_ns,
        [PW_PHASE_OPTIMIZER] = row->optimizer_ns,
    };
    return own[phase] > 0 ? own[phase] : 0;
}

/* The rank's own work in the phase during the stretch. */
static int64_t work_in(const struct pw_stretch_input *in, const struct pw_stretch *found,
                       size_t rank, enum pw_phase phase)
{
    int64_t sum = 0;
    for (size_t i = found->first; i <= found->last; i++)
        sum += phase_of(&in->rows[i * in->nranks + rank], phase);
    return sum;
}

static int is_compared(const struct pw_stretch_input *in, const struct pw_stretch *found,
                       size_t rank)
{
    return rank != found->rank && in->rows[found->first * in->nranks + rank].wait_ns >= 0 &&
           !(found->is_host && in->host_of[rank] == in->host_of[found->rank]);
}

enum pw_phase pw_stretch_phase(const struct pw_stretch_input *in, void *scratch,
                               const struct pw_stretch *found)
{
    int64_t *others = scratch, most = 0;
    enum pw_phase best = PW_PHASE_NONE;
    if (is_in_any_phase(found->cause))
        return PW_PHASE_NONE;
    for (enum pw_phase phase = PW_PHASE_DATA; phase <= PW_PHASE_OPTIMIZER; phase++) {
        size_t n = 0;
        for (size_t r = 0; r < in->nranks; r++)
            if (is_compared(in, found, r))
                others[n++] = work_in(in, found, r, phase);
        const int64_t more =
            n ? work_in(in, found, found->rank, phase) - pw_median_i64(others, n) : 0;
        if (more > most && (double)more >= PW_STRETCH_IN_PHASE * (double)found->lost_ns) {
            best = phase;
            most = more;
        }
    }
    return best;
}
