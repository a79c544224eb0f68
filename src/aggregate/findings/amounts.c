/* Sums up /samples/work by step, and gathers it; see amounts.h. */
#include "aggregate/findings/amounts.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/input/cursor.h"
#include "aggregate/input/missing.h"
#include "analysis/statistics.h"
#include "core/limits.h"
#include "core/search.h"

/* Reads the amounts of one rank into a column of mine[nsteps * ninputs]. */
static int read_rank(const struct pw_job *job, const struct pw_input *input, size_t column,
                     int64_t *mine)
{
    struct pw_cursor c;
    ptrdiff_t near = -1;
    int err = pw_cursor_at(&c, input, &input->work_rows, PW_TABLE_work);
    for (const struct pw_row_work *row; !err && (row = pw_cursor_next(&c));) {
        ptrdiff_t step = pw_input_step_near(input, row->time, &near);
        ptrdiff_t s = step < 0 ? -1 : pw_world_step_index(&job->world, input->steps[step].step);
        if (s < 0 || row->amount < 0)
            continue;
        int64_t *sum = &mine[(size_t)s * job->ninputs + column];
        *sum = pw_sum(*sum < 0 ? 0 : *sum, row->amount);
    }
    err = err ? err : c.err;
    pw_cursor_close(&c);
    return err;
}

static int64_t *cell_of(const struct pw_job *job, const struct pw_row_step *step, size_t column,
                        int64_t *mine)
{
    const ptrdiff_t s = pw_world_step_index(&job->world, step->step);
    return s < 0 ? NULL : &mine[(size_t)s * job->ninputs + column];
}

/* Replaces the amounts of steps with lost records by the rank's median amount. */
static int complete_rank(const struct pw_job *job, const struct pw_input *input, size_t column,
                         int64_t *mine)
{
    struct pw_spans lost = {0};
    size_t n = 0;
    pw_lost_find(input, 1U << PW_LOST_RANGE | 1U << PW_LOST_STEP, &lost);
    int64_t *known = malloc(sizeof(*known) * (input->nsteps + 1));
    const int ok = known && !lost.failed;
    for (size_t i = 0; ok && i < input->nsteps && lost.n; i++) {
        const int64_t *cell = cell_of(job, &input->steps[i], column, mine);
        if (cell && *cell >= 0 && !pw_lost_in(&lost, &input->steps[i]))
            known[n++] = *cell;
    }
    const int64_t usual = n ? pw_median_i64(known, n) : -1;
    for (size_t i = 0; ok && i < input->nsteps && lost.n; i++) {
        int64_t *cell = cell_of(job, &input->steps[i], column, mine);
        if (cell && pw_lost_in(&lost, &input->steps[i]))
            *cell = usual;
    }
    free(known);
    pw_spans_fini(&lost);
    return ok ? 0 : -ENOMEM;
}

static int read_all(struct pw_job *job, int64_t *mine)
{
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        int err = input->work_rows.rows ? read_rank(job, input, i, mine) : 0;
        if (err == -ENOMEM || complete_rank(job, input, i, mine))
            return -ENOMEM;
        if (err)
            pw_job_note(job, input->rank, "damaged", 1,
                        "its amounts of work cannot be read to the end");
    }
    return 0;
}

struct cell {
    int64_t rank, amount;
};

struct gathering {
    struct cell *send, *receive;
    int *counts, *starts; /* [processes] in units of int64_t: a cell has two */
};

/* Gathers the amounts on process 0, one step at a time. */
static void gather_steps(struct pw_amounts *out, const struct pw_job *job, const int64_t *mine,
                         const struct gathering *g)
{
    struct cell *send = g->send, *receive = g->receive;
    size_t all = 0;
    for (int p = 0; p < job->procs.processes; p++)
        all += (size_t)g->counts[p] / 2;
    for (size_t s = 0; s < job->world.nsteps; s++) {
        for (size_t i = 0; i < job->ninputs; i++)
            send[i] = (struct cell){job->inputs[i].rank, mine[s * job->ninputs + i]};
        pw_ex_gatherv(send, (int)job->ninputs * 2, PW_EX_INT64_T, receive, g->counts, g->starts,
                      PW_EX_INT64_T, 0, job->procs.comm);
        for (size_t i = 0; job->procs.process == 0 && i < all; i++)
            if (receive[i].rank >= 0 && receive[i].rank < job->world.nranks)
                out->amount[s * (size_t)job->world.nranks + (size_t)receive[i].rank] =
                    receive[i].amount;
    }
}

static void fill(int64_t *values, size_t n, int64_t value)
{
    for (size_t i = 0; values && i < n; i++)
        values[i] = value;
}

static int gather_given(struct pw_amounts *out, struct pw_job *job)
{
    const size_t mine_n = job->world.nsteps * job->ninputs;
    const size_t all_n =
        job->procs.process == 0 ? job->world.nsteps * (size_t)job->world.nranks : 0;
    int64_t *mine = malloc(sizeof(*mine) * (mine_n + 1));
    struct gathering g = {
        .send = malloc(sizeof(*g.send) * (job->ninputs + 1)),
        .receive = malloc(sizeof(*g.receive) * ((size_t)job->world.nranks + 1)),
        .counts = calloc(2 * (size_t)job->procs.processes, sizeof(*g.counts)),
    };
    int count = 2 * (int)job->ninputs, ok;
    out->amount = malloc(sizeof(*out->amount) * (all_n + 1));
    out->how = "given";
    fill(mine, mine_n, -1);
    fill(out->amount, all_n, -1);
    ok = mine && g.send && g.receive && g.counts && out->amount && !read_all(job, mine);
    ok = pw_procs_all_ok(&job->procs, ok);
    if (ok) {
        pw_ex_allgather(&count, 1, PW_EX_INT, g.counts, 1, PW_EX_INT, job->procs.comm);
        g.starts = g.counts + job->procs.processes;
        for (int p = 1; p < job->procs.processes; p++)
            g.starts[p] = g.starts[p - 1] + g.counts[p - 1];
        gather_steps(out, job, mine, &g);
    }
    free(mine);
    free(g.send);
    free(g.receive);
    free(g.counts);
    return ok ? 0 : -ENOMEM;
}

/* Takes the mean size of the messages that each rank sent in the run as its amount in every step;
 * sizes are not known for each step. Larger parts of the data have larger edges. The number of
 * messages is not used, because it depends only on the rank's place in the domain. */
static int use_messages(struct pw_amounts *out, const struct pw_world *world,
                        const struct pw_pairs *pairs)
{
    const size_t nranks = (size_t)world->nranks;
    int64_t *bytes = calloc(2 * nranks + 1, sizeof(*bytes)), *messages = NULL;
    out->amount = malloc(sizeof(*out->amount) * (nranks * world->nsteps + 1));
    if (!bytes || !out->amount) {
        free(bytes);
        return -ENOMEM;
    }
    messages = bytes + nranks;
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pw_row_c_p2p *pair = &pairs->rows[i];
        if (pair->src < 0 || pair->src >= world->nranks || pair->bytes < 0 || pair->messages <= 0)
            continue;
        bytes[pair->src] = pw_sum(bytes[pair->src], pair->bytes);
        messages[pair->src] = pw_sum(messages[pair->src], pair->messages);
    }
    for (size_t s = 0; s < world->nsteps; s++)
        for (size_t r = 0; r < nranks; r++)
            out->amount[s * nranks + r] = messages[r] ? bytes[r] / messages[r] : -1;
    free(bytes);
    return 0;
}

/* Fills starts[nranks * nsteps] with the start of each rank's steps, from the windows of the graph.
 * A step that a rank lacks gets the start of its next one. */
static void fill_starts(int64_t *starts, const struct pw_world *world,
                        const struct pw_graph_parts *parts)
{
    const struct pw_graph_window *windows = (const void *)parts->windows.v;
    const size_t nranks = (size_t)world->nranks, nsteps = world->nsteps;
    fill(starts, nranks * nsteps, INT64_MAX);
    for (size_t i = 0; i < parts->windows.n; i++)
        if (windows[i].phase < 0)
            starts[(size_t)windows[i].rank * nsteps + (size_t)windows[i].step] = windows[i].start;
    for (size_t i = nranks * nsteps; i-- > 1;)
        if (starts[i - 1] == INT64_MAX && i % nsteps)
            starts[i - 1] = starts[i];
}

/* Index of the last start, of ascending ones, at or before `time`; -1: none. */
static ptrdiff_t step_at(const int64_t *starts, size_t nsteps, int64_t time)
{
    const struct pw_search_key key = {sizeof(*starts), 0, sizeof(*starts)};
    return (ptrdiff_t)pw_search_until(starts, nsteps, key, time) - 1;
}

/* Takes the bytes moved in unequal collectives as amounts. Returns 1; 0 when there are none, or not
 * all steps are in the graph; or -ENOMEM. */
static int use_collectives(struct pw_amounts *out, const struct pw_world *world,
                           const struct pw_graph_parts *parts)
{
    const struct pw_graph_op *ops = (const void *)parts->ops.v;
    const size_t nranks = (size_t)world->nranks, nsteps = world->nsteps;
    size_t n = 0;
    for (size_t i = 0; i < parts->ops.n; i++)
        n += ops[i].bytes > 0;
    if (!n || parts->is_short)
        return 0;
    int64_t *starts = malloc(sizeof(*starts) * (nranks * nsteps + 1));
    out->amount = malloc(sizeof(*out->amount) * (nranks * nsteps + 1));
    if (!starts || !out->amount) {
        free(starts);
        return -ENOMEM;
    }
    fill_starts(starts, world, parts);
    fill(out->amount, nranks * nsteps, -1);
    for (size_t i = 0; i < parts->ops.n; i++) {
        const size_t rank = (size_t)ops[i].rank;
        ptrdiff_t s = ops[i].bytes > 0 ? step_at(starts + rank * nsteps, nsteps, ops[i].enter) : -1;
        int64_t *sum = s < 0 ? NULL : &out->amount[(size_t)s * nranks + rank];
        if (sum)
            *sum = pw_sum(*sum < 0 ? 0 : *sum, ops[i].bytes);
    }
    free(starts);
    out->how = "collectives";
    return 1;
}

static int use_communication(struct pw_amounts *out, const struct pw_world *world,
                             const struct pw_pairs *pairs, const struct pw_graph_parts *parts)
{
    int found = world->nsteps ? use_collectives(out, world, parts) : 0;
    if (found || !pairs->n || !world->nsteps)
        return found < 0 ? found : 0;
    out->how = "messages";
    return use_messages(out, world, pairs);
}

int pw_amounts_gather(struct pw_amounts *out, struct pw_job *job, const struct pw_pairs *pairs,
                      const struct pw_graph_parts *parts)
{
    int said = 0, any, err = 0;
    *out = (struct pw_amounts){0};
    for (size_t i = 0; i < job->ninputs; i++)
        said |= job->inputs[i].work_rows.rows > 0;
    pw_ex_allreduce(&said, &any, 1, PW_EX_INT, PW_EX_MAX, job->procs.comm);
    if (any)
        return gather_given(out, job);
    if (job->procs.process == 0)
        err = use_communication(out, &job->world, pairs, parts);
    return pw_procs_all_ok(&job->procs, !err) ? 0 : -ENOMEM;
}

void pw_amounts_fini(struct pw_amounts *amounts)
{
    free(amounts->amount);
    *amounts = (struct pw_amounts){0};
}
