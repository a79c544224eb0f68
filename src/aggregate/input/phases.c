/* The phases of a step, from their ranges: which field holds which, and the boundaries they set. */
#include "aggregate/input/phases.h"

#include <string.h>

/* The member of a phase row, or NULL for a value that is no phase. */
int64_t *pw_phase_member(struct pw_row_c_phase_trace *row, int phase)
{
    switch (phase) {
    case PW_PHASE_DATA:
        return &row->data_ns;
    case PW_PHASE_FORWARD:
        return &row->forward_ns;
    case PW_PHASE_BACKWARD:
        return &row->backward_ns;
    case PW_PHASE_ALLREDUCE:
        return &row->allreduce_ns;
    case PW_PHASE_OPTIMIZER:
        return &row->optimizer_ns;
    default:
        return NULL;
    }
}

int pw_phase_of_name(const char *name)
{
    for (int phase = PW_PHASE_DATA; phase <= PW_PHASE_OPTIMIZER; phase++)
        if (strcmp(name, pw_enum_name(PW_F_PHASE, phase)) == 0)
            return phase;
    return PW_PHASE_NONE;
}

int pw_phase_is_loader(const char *name)
{
    static const char loader[] = "enumerate(DataLoader)#";
    return strncmp(name, loader, sizeof(loader) - 1) == 0;
}

/* Boundaries of forward and backward from their phases (metrics.md, source 2). */
void pw_phase_mark(struct pw_row_c_step_trace *row, int phase, int64_t step_start,
                   struct pw_interval window, int64_t *backward_end)
{
    if (phase == PW_PHASE_FORWARD && row->interval_ns < 0)
        row->interval_ns = window.start - step_start;
    if (phase == PW_PHASE_BACKWARD)
        *backward_end = window.end;
    if (phase == PW_PHASE_DATA)
        row->data_wait_ns =
            (row->data_wait_ns < 0 ? 0 : row->data_wait_ns) + window.end - window.start;
}

void pw_phase_close(struct pw_row_c_step_trace *row, int64_t step_start, int64_t step_end,
                    int64_t backward_end)
{
    if (backward_end == INT64_MIN)
        return;
    row->tail_ns = step_end - backward_end;
    if (row->interval_ns >= 0)
        row->fp_bp_ns = backward_end - step_start - row->interval_ns;
}
