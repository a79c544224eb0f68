/* Joins the windows of all ranks by their number; see windows.h. */
#include "aggregate/input/windows.h"

#include <stdlib.h>

static void join_first(int64_t *first, int64_t other)
{
    if (other >= 0 && (*first < 0 || other < *first))
        *first = other;
}

static void join_last(int64_t *last, int64_t other)
{
    *last = other > *last ? other : *last;
}

static void join(struct pw_row_c_window *to, const struct pw_row_c_window *from)
{
    if (to->nranks == 0) {
        *to = *from;
        return;
    }
    join_first(&to->first_step, from->first_step);
    join_last(&to->last_step, from->last_step);
    join_first(&to->warmup_first_step, from->warmup_first_step);
    join_last(&to->warmup_last_step, from->warmup_last_step);
    to->start = from->start < to->start ? from->start : to->start;
    to->end = from->end > to->end ? from->end : to->end;
    to->nranks += from->nranks;
}

static struct pw_row_c_window row_of(const struct pw_input *input, size_t i)
{
    const struct pw_row_window *row = &input->windows[i];
    return (struct pw_row_c_window){
        .window = (int64_t)i,
        .first_step = row->first_step,
        .last_step = row->last_step,
        .warmup_first_step = row->warmup_first_step,
        .warmup_last_step = row->warmup_last_step,
        .start = pw_input_time(input, row->start),
        .end = pw_input_time(input, row->end),
        .cause = row->cause,
        .nranks = 1,
    };
}

/* Joins rows with the same number, in place. Returns how many are left. */
static size_t join_rows(struct pw_row_c_window *rows, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = (size_t)rows[i].window >= most ? (size_t)rows[i].window + 1 : most;
    struct pw_row_c_window *joined = calloc(most + 1, sizeof(*joined));
    if (!joined)
        return 0;
    for (size_t i = 0; i < n; i++)
        join(&joined[rows[i].window], &rows[i]);
    for (size_t i = 0; i < most; i++)
        rows[i] = joined[i];
    free(joined);
    return most;
}

void pw_windows_write(struct pw_clusterfile *file, const struct pw_job *job)
{
    size_t n = 0, total;
    void *all = NULL;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nwindows;
    struct pw_row_c_window *mine = calloc(n + 1, sizeof(*mine));
    n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t k = 0; k < job->inputs[i].nwindows; k++)
            mine[n++] = row_of(&job->inputs[i], k);
    if (!pw_procs_all_ok(&job->procs, mine != NULL))
        pw_procs_out_of_memory(&job->procs);
    n = join_rows(mine, n);
    total = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &all);
    total = job->procs.process == 0 && all ? join_rows(all, total) : 0;
    pw_clusterfile_write_root(file, PW_TABLE_c_window, total, all);
    free(all);
    free(mine);
}
