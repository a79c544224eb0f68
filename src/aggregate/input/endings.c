/* Finds and orders the ends of ranks; see endings.h. */
#include "aggregate/input/endings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/hang.h"
#include "analysis/missing.h"
#include "core/h5/h5file.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/ops.h"
#include "core/search.h"
#include "core/sort.h"

/* ---- facts of a rank ---- */

static int uses_mpi(const struct pw_input *input)
{
    for (size_t c = 0; c < input->ncomms; c++)
        if (input->comms[c].source == PW_SOURCE_MPI)
            return 1;
    return input->init_ns != INT64_MAX && input->init_source == PW_SOURCE_MPI;
}

/* 1 when MPI_Finalize is one of the last events. */
static int has_finalized(const struct pw_input *input)
{
    enum { LAST = 64 };
    struct pw_row_comm_event events[LAST];
    struct pw_h5_table *table;
    const size_t rows = input->event_rows.rows, n = rows < LAST ? rows : LAST;
    int has = input->finalized_ns != INT64_MAX;
    if (has || !n || pw_input_table(input, &input->event_rows, &table))
        return has;
    if (pw_h5_table_read(table, rows - n, n, events) == 0)
        for (size_t i = 0; i < n; i++)
            has |= events[i].op == PW_OP_Finalize;
    pw_h5_table_close(table);
    return has;
}

static enum pw_mpi_use mpi_use_of(const struct pw_input *input)
{
    if (!uses_mpi(input))
        return input->nunrecorded || input->dropped ? PW_MPI_USE_UNKNOWN : PW_MPI_USE_NONE;
    if (has_finalized(input))
        return PW_MPI_USE_FINALIZED;
    /* With a gap, MPI_Finalize may be what was not recorded. */
    return input->gap_rows.rows || input->dropped || input->nunrecorded ? PW_MPI_USE_UNKNOWN
                                                                        : PW_MPI_USE_OPEN;
}

/* 1 when the program ended its last marked step. A step that nothing ended has the end of the last
 * range, if one is in it. So it was ended if that range ends before it, is after it, or is its
 * optimizer. */
static int has_left(const struct pw_input *input, const struct pw_row_step *last)
{
    enum { LAST = 64 };
    struct pw_row_range ranges[LAST];
    struct pw_h5_table *table;
    const size_t rows = input->range_rows.rows, n = rows < LAST ? rows : LAST;
    int has = 0;
    int64_t last_end = INT64_MIN;
    if (!n || pw_input_table(input, &input->range_rows, &table))
        return 0;
    if (pw_h5_table_read(table, rows - n, n, ranges) == 0)
        for (size_t i = 0; i < n; i++) {
            const struct pw_row_range *r = &ranges[i];
            const int is_optimizer = r->kind == PW_KIND_PHASE && r->name < input->nphases &&
                                     input->phases[r->name] == PW_PHASE_OPTIMIZER;
            last_end = r->end > last_end ? r->end : last_end;
            has |= (r->start >= last->end && r->end > last->end) ||
                   (is_optimizer && r->end == last->end);
        }
    pw_h5_table_close(table);
    return has || (last_end > last->start && last_end < last->end);
}

/* The last step that the rank began. */
static void describe_step(struct pw_row_c_ending *row, const struct pw_input *input,
                          const struct pw_world *world)
{
    enum { SLICES = 2 }; /* steps_inferred: no steps of the program */
    row->step = -1;
    if (!input->nsteps || world->steps_inferred == SLICES)
        return;
    const struct pw_row_step *last = &input->steps[input->nsteps - 1];
    row->step = last->step;
    row->in_step = world->steps_inferred ? input->ending.time <= last->end : !has_left(input, last);
}

static int64_t cluster_time(const struct pw_input *input, int64_t local_ns)
{
    return local_ns < 0 || local_ns == INT64_MAX ? -1 : pw_input_time(input, local_ns);
}

static int64_t last_sign(const struct pw_input *input)
{
    int64_t last = input->event_rows.rows ? input->last_ns : -1;
    if (input->sampled_until != INT64_MAX && input->sampled_until > last)
        last = input->sampled_until;
    return input->ending.time > last ? input->ending.time : last;
}

static struct pw_row_c_ending describe(const struct pw_input *input, const struct pw_world *world)
{
    struct pw_ending_facts facts = {.exception_ns = -1, .abort_ns = -1, .error_ns = -1};
    struct pw_row_c_ending row = {
        .rank = (int32_t)input->rank,
        .time = cluster_time(input, input->ending.time),
        .seen_until = cluster_time(input, last_sign(input)),
        .exit_code = (int32_t)input->exit_code,
        .exit_signal = (int32_t)input->exit_signal,
        .oom_kills = input->ending.oom_kills,
        .mpi = (uint8_t)mpi_use_of(input),
        .mpi_error = input->mpi_error,
    };
    if (row.mpi_error != PW_MPI_ERROR_NONE)
        facts.error_ns = cluster_time(input, input->mpi_error_ns);
    for (size_t i = 0; i < input->nopen_calls; i++)
        if (input->open_calls[i].op == PW_OP_Abort) {
            facts.abort_ns = cluster_time(input, input->open_calls[i].start);
            row.abort_code = input->open_calls[i].tag;
        }
    for (size_t i = 0; i < input->nexceptions; i++)
        if (input->exceptions[i].is_main)
            facts.exception_ns = cluster_time(input, input->exceptions[i].time);
    describe_step(&row, input, world);
    pw_ending_describe(&row, &facts);
    return row;
}

/* ---- collectives of NCCL, which are on GPUs when their calls have returned ---- */

struct progress {
    int64_t uid; /* with a sign, for pw_search() */
    int64_t reached;
};

static int by_progress(const void *a, const void *b)
{
    const struct progress *x = a, *y = b;
    PW_COMPARE(x->uid, y->uid);
    PW_COMPARE(x->reached, y->reached);
    return 0;
}

static bool is_on_gpu(const struct pw_input *input, size_t call)
{
    return !input->imported[0] && input->open_calls[call].source == PW_SOURCE_NCCL;
}

/* How many collectives each rank has called on each communicator of NCCL, sorted; without ranks
 * that may have called more than were recorded. */
static size_t gather_progress(const struct pw_job *job, struct progress **all)
{
    size_t most = 0, n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].ncomms;
    struct progress *mine = malloc((most + 1) * sizeof(*mine));
    for (size_t i = 0; mine && i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        for (size_t c = 0; c < input->ncomms && !input->imported[0] && !input->nccl_uncounted; c++)
            if (input->comms[c].source == PW_SOURCE_NCCL)
                mine[n++] =
                    (struct progress){(int64_t)input->comms[c].uid, input->comms[c].collectives};
    }
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    if (n)
        pw_sort(gathered, n, sizeof(**all), by_progress);
    return n;
}

/* Whether a member has not called the collective: then it cannot have ended. */
static bool is_held(const struct progress *all, size_t n, const struct pw_row_c_open_call *call)
{
    const int64_t uid = (int64_t)call->comm_uid;
    const size_t first = pw_search(all, n, PW_SEARCH_KEY(struct progress, uid), uid);
    return first < n && all[first].uid == uid && call->seq >= all[first].reached;
}

/* Whether another of the input's calls on the communicator was held before. */
static bool is_behind(const struct pw_input *input, size_t call, const bool *held)
{
    for (size_t i = 0; i < input->nopen_calls; i++)
        if (held[i] && input->open_calls[i].comm_uid == input->open_calls[call].comm_uid &&
            input->open_calls[i].seq < input->open_calls[call].seq)
            return true;
    return false;
}

/* Leaves of the rank's collectives on GPUs those that the rank was held in: the first on each
 * communicator. Returns 0 or -ENOMEM. */
static int keep_held(struct pw_input *input, const struct progress *all, size_t n)
{
    const size_t calls = input->nopen_calls;
    bool *held = calloc(2 * calls + 1, sizeof(*held)), *is_kept = held + calls;
    if (!held)
        return -ENOMEM;
    for (size_t i = 0; i < calls; i++)
        held[i] = is_on_gpu(input, i) && is_held(all, n, &input->open_calls[i]);
    for (size_t i = 0; i < calls; i++)
        is_kept[i] = !is_on_gpu(input, i) || (held[i] && !is_behind(input, i, held));
    input->nopen_calls = 0;
    for (size_t i = 0; i < calls; i++)
        if (is_kept[i])
            input->open_calls[input->nopen_calls++] = input->open_calls[i];
    free(held);
    return 0;
}

/* `is_bad`: a rank did not end well; otherwise all have ended. The same error on all processes. */
static int settle_gpus(struct pw_job *job, bool is_bad)
{
    struct progress *all = NULL;
    const size_t n = is_bad ? gather_progress(job, &all) : 0;
    int err = 0;
    for (size_t i = 0; i < job->ninputs && !err; i++)
        err = keep_held(&job->inputs[i], all, n);
    free(all);
    return pw_procs_worst(&job->procs, err);
}

/* ---- who waited for whom ---- */

/* A communicator of a rank in which some rank had an open call. */
struct member {
    uint64_t uid;
    int64_t reached;
    int32_t rank, size;
};

static int by_uid(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* With cluster times; `seen_until` becomes the end of the rank's last call that returned. */
static size_t gather_open_calls(const struct pw_job *job, struct pw_row_c_open_call **all)
{
    size_t n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nopen_calls;
    struct pw_row_c_open_call *mine = calloc(n + 1, sizeof(*mine));
    n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t k = 0; k < job->inputs[i].nopen_calls; k++) {
            mine[n] = job->inputs[i].open_calls[k];
            mine[n].start = pw_input_time(&job->inputs[i], mine[n].start);
            mine[n].seen_until = pw_input_time(&job->inputs[i], job->inputs[i].last_ns);
            n++;
        }
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    return n;
}

/* Gathers, by rank, the communicators of the open calls. */
static size_t gather_members(const struct pw_job *job, const struct pw_row_c_open_call *calls,
                             size_t ncalls, struct member **all)
{
    uint64_t *uids = malloc(sizeof(*uids) * (ncalls + 1));
    size_t most = 0, n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].ncomms;
    struct member *mine = malloc(sizeof(*mine) * (most + 1));
    for (size_t i = 0; uids && i < ncalls; i++)
        uids[i] = calls[i].comm_uid;
    if (uids)
        pw_sort(uids, ncalls, sizeof(*uids), by_uid);
    for (size_t i = 0; uids && mine && i < job->ninputs; i++)
        for (size_t c = 0; c < job->inputs[i].ncomms; c++) {
            const struct pw_row_comms *comm = &job->inputs[i].comms[c];
            if (bsearch(&comm->uid, uids, ncalls, sizeof(*uids), by_uid))
                mine[n++] =
                    (struct member){comm->uid, comm->collectives, (int32_t)job->inputs[i].rank,
                                    comm->size + comm->remote_size};
        }
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(uids);
    free(mine);
    *all = gathered;
    return n;
}

/* The open calls of all ranks, and the communicators of these, by rank. */
struct gathered {
    struct pw_row_c_open_call *calls;
    size_t ncalls;
    struct member *members;
    size_t nmembers;
};

/* The ranks as they were at their ends. The arrays are by rank. */
struct last {
    struct pw_live *ranks;
    struct pw_live_thread *threads;
    struct pw_live_comm *comms;
    int32_t *scratch;
    uint8_t *marks;
};

static struct pw_live_thread thread_of(const struct pw_row_c_open_call *call,
                                       const struct pw_row_c_ending *end)
{
    return (struct pw_live_thread){
        .thread = call->thread,
        .awaited = call->awaited,
        .source = call->source,
        .queue = call->source == PW_SOURCE_NCCL ? PW_LIVE_HELD : PW_LIVE_THREAD,
        .op = call->op,
        .since_ns = end->seen_until > call->start ? end->seen_until - call->start : 0,
        .comm_uid = call->comm_uid,
        .seq = call->seq,
        .peer = call->peer,
        .tag = call->tag,
    };
}

/* Adds the threads of a rank, whose open calls begin at `call`. A thread that left a call after all
 * of them is in none. Returns where the open calls of the next rank begin. */
static size_t add_threads(struct pw_live *rank, const struct gathered *g, size_t call,
                          const struct pw_row_c_ending *end)
{
    int64_t entered = INT64_MIN, left = INT64_MIN;
    for (; call < g->ncalls && g->calls[call].rank == rank->rank; call++) {
        const struct pw_row_c_open_call *one = &g->calls[call];
        rank->threads[rank->nthreads++] = thread_of(one, end);
        entered = one->start > entered ? one->start : entered;
        left = one->seen_until;
    }
    if (left > entered)
        rank->threads[rank->nthreads++] = (struct pw_live_thread){
            .since_ns = end->seen_until > left ? end->seen_until - left : 0, .seq = -1, .peer = -1};
    return call;
}

static void fill_last(struct last *last, const struct pw_endings *e, int64_t world_size,
                      const struct gathered *g)
{
    size_t call = 0, member = 0;
    for (size_t i = 0; i < e->n; i++) {
        struct pw_live *rank = &last->ranks[i];
        *rank = (struct pw_live){.rank = e->rows[i].rank,
                                 .world_size = (int32_t)world_size,
                                 .threads = &last->threads[call + i],
                                 .comms = &last->comms[member]};
        call = add_threads(rank, g, call, &e->rows[i]);
        for (; member < g->nmembers && g->members[member].rank == rank->rank; member++)
            rank->comms[rank->ncomms++] =
                (struct pw_live_comm){.uid = g->members[member].uid,
                                      .my_rank = -1,
                                      .size = g->members[member].size,
                                      .reached = g->members[member].reached,
                                      .unnumbered = -1};
    }
}

/* On process 0. Returns 0 or -ENOMEM. */
static int find_waits(struct pw_endings *e, const struct pw_job *job, const struct gathered *g)
{
    struct last last = {
        .ranks = calloc(e->n + 1, sizeof(*last.ranks)),
        .threads = calloc(g->ncalls + e->n + 1, sizeof(*last.threads)),
        .comms = calloc(g->nmembers + 1, sizeof(*last.comms)),
        .scratch = malloc(sizeof(*last.scratch) * (pw_hang_scratch(e->n, g->ncalls + e->n) + 1)),
        .marks = malloc(e->n + 1),
    };
    const int err =
        last.ranks && last.threads && last.comms && last.scratch && last.marks ? 0 : -ENOMEM;
    if (!err) {
        fill_last(&last, e, job->world.nranks, g);
        pw_ending_find_waits(e->rows, last.ranks, e->n, last.scratch, last.marks);
    }
    free(last.ranks);
    free(last.threads);
    free(last.comms);
    free(last.scratch);
    free(last.marks);
    return err;
}

/* ---- the job ---- */

/* Marks the steps of a rank that reach beyond the first end, and the last one of a rank that did
 * not end well: nothing tells when that would have ended. Returns the start of the first of them,
 * or `first_ns`. */
static int64_t cut_steps(struct pw_input *input, const struct pw_row_c_ending *row,
                         int64_t first_ns)
{
    int64_t cut_ns = first_ns;
    for (size_t s = 0; s < input->nsteps; s++) {
        const int is_cut = s + 1 == input->nsteps && row->ended != PW_ENDED_WELL &&
                           row->mpi != PW_MPI_USE_FINALIZED;
        const int64_t start = pw_input_time(input, input->steps[s].start);
        if (!is_cut && pw_input_time(input, input->steps[s].end) <= first_ns)
            continue;
        input->steps[s].recorded = PW_RECORDED_PARTIAL;
        cut_ns = start < cut_ns ? start : cut_ns;
    }
    return cut_ns;
}

/* Notes since when the rank waited in the call in which it ended. */
static void note_wait(struct pw_input *input, const struct pw_endings *e)
{
    const size_t at =
        pw_search(e->rows, e->n, PW_SEARCH_KEY(struct pw_row_c_ending, rank), input->rank);
    if (at == e->n || e->rows[at].rank != input->rank || !e->rows[at].waited)
        return;
    for (size_t i = 0; i < input->nopen_calls; i++)
        if (input->waited_from_ns == INT64_MAX ||
            input->open_calls[i].start > input->waited_from_ns)
            input->waited_from_ns = input->open_calls[i].start;
}

static void say(const struct pw_endings *e, int64_t first_ns)
{
    for (size_t i = 0; i < e->n; i++)
        pw_debug(PW_LOG_MERGE, 2, "rank %d ended %s (%s), %.3f ms after the first%s",
                 (int)e->rows[i].rank, pw_enum_name(PW_F_ENDED, e->rows[i].ended),
                 pw_enum_name(PW_F_HOW, e->rows[i].how),
                 (double)(e->rows[i].began - first_ns) / 1e6,
                 e->rows[i].waited ? ", for which it waited" : "");
}

/* Describes this process's ranks. Returns 1 when one of them did not end well. */
static int describe_mine(const struct pw_job *job, struct pw_row_c_ending *rows)
{
    int is_bad = 0;
    for (size_t i = 0; i < job->ninputs; i++) {
        rows[i] = describe(&job->inputs[i], &job->world);
        is_bad |= rows[i].ended == PW_ENDED_LATER;
    }
    return is_bad && !job->world.is_snapshot;
}

static void gather_exceptions(struct pw_endings *e, const struct pw_job *job)
{
    size_t n = 0;
    void *all;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nexceptions;
    struct pw_row_c_exception *mine = calloc(n + 1, sizeof(*mine));
    n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t k = 0; k < job->inputs[i].nexceptions; k++) {
            mine[n] = job->inputs[i].exceptions[k];
            mine[n].time = pw_input_time(&job->inputs[i], mine[n].time);
            n++;
        }
    e->nexceptions = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &all);
    e->exceptions = all;
    free(mine);
}

/* Returns for each row 1 when its exception or error tells of another rank; NULL when memory is
 * short. */
static uint8_t *find_answers(const struct pw_endings *e)
{
    uint8_t *answers = calloc(e->n + 1, sizeof(*answers));
    for (size_t i = 0; answers && i < e->n; i++)
        answers[i] = pw_ending_is_error_answer(&e->rows[i]);
    for (size_t i = 0; answers && i < e->nexceptions; i++) {
        const struct pw_row_c_exception *one = &e->exceptions[i];
        const size_t at =
            pw_search(e->rows, e->n, PW_SEARCH_KEY(struct pw_row_c_ending, rank), one->rank);
        if (at < e->n && e->rows[at].rank == one->rank && one->is_main)
            answers[at] =
                e->rows[at].how == PW_HOW_EXCEPTION && pw_ending_is_answer(one->type, one->message);
    }
    return answers;
}

/* Orders the gathered rows, the same on all processes. Returns 0 or -ENOMEM. */
static int order(struct pw_endings *e, struct pw_job *job, const struct pw_row_c_ending *mine)
{
    struct gathered g;
    const int64_t error_ns = job->world.clock_error_max_ns;
    uint8_t *answers = find_answers(e);
    if (!pw_procs_all_ok(&job->procs, answers != NULL)) {
        free(answers);
        return -ENOMEM;
    }
    const int64_t first_ns =
        pw_ending_order(e->rows, e->n, error_ns < 0 ? -1 : 2 * error_ns, answers);
    free(answers);
    g.ncalls = gather_open_calls(job, &g.calls);
    g.nmembers = gather_members(job, g.calls, g.ncalls, &g.members);
    int err = 0;
    if (job->procs.process == 0) {
        err = find_waits(e, job, &g);
        say(e, first_ns);
    }
    free(g.calls);
    free(g.members);
    err = pw_procs_worst(&job->procs, err);
    if (err || first_ns < 0)
        return err;
    pw_procs_broadcast(&job->procs, e->rows, e->n * sizeof(*e->rows), 0);
    int64_t cut_ns = first_ns;
    for (size_t i = 0; i < job->ninputs; i++) {
        const int64_t cut = cut_steps(&job->inputs[i], &mine[i], first_ns);
        cut_ns = cut < cut_ns ? cut : cut_ns;
        note_wait(&job->inputs[i], e);
    }
    pw_ex_allreduce(PW_EX_IN_PLACE, &cut_ns, 1, PW_EX_INT64_T, PW_EX_MIN, job->procs.comm);
    job->world.ended_ns = first_ns;
    job->world.cut_ns = cut_ns;
    return 0;
}

int pw_endings_find(struct pw_endings *e, struct pw_job *job)
{
    struct pw_row_c_ending *mine = calloc(job->ninputs + 1, sizeof(*mine));
    void *all;
    *e = (struct pw_endings){0};
    job->world.ended_ns = job->world.cut_ns = INT64_MAX;
    if (!pw_procs_all_ok(&job->procs, mine != NULL)) {
        free(mine);
        return -ENOMEM;
    }
    const bool is_bad = pw_procs_worst(&job->procs, describe_mine(job, mine) ? -1 : 0) != 0;
    int err = settle_gpus(job, is_bad);
    if (is_bad && !err) {
        e->n = pw_procs_allgather(&job->procs, mine, job->ninputs, sizeof(*mine), &all);
        e->rows = all;
        gather_exceptions(e, job);
        err = order(e, job, mine);
    }
    free(mine);
    return err;
}

void pw_endings_write(struct pw_clusterfile *file, const struct pw_job *job,
                      const struct pw_endings *e)
{
    const int is_root = job->procs.process == 0;
    pw_clusterfile_write_root(file, PW_TABLE_c_ending, is_root ? e->n : 0, e->rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_exception, is_root ? e->nexceptions : 0,
                              e->exceptions);
}

void pw_endings_fini(struct pw_endings *e)
{
    free(e->rows);
    free(e->exceptions);
}

/* Gathers what dumps after a hang have. */

static int is_dump(const char *imported)
{
    return strcmp(imported, "flight") == 0;
}

/* Whether an earlier input of this process has told the members of the communicator. */
static int is_told(const struct pw_job *job, size_t input, uint64_t uid)
{
    for (size_t i = 0; i < input; i++)
        for (size_t m = 0; m < job->inputs[i].nopen_members; m++)
            if (job->inputs[i].open_members[m].uid == uid)
                return 1;
    return 0;
}

static size_t dumps_gather_members(const struct pw_job *job, struct pw_missing_member **all)
{
    size_t most = 0, n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].nopen_members;
    struct pw_missing_member *mine = malloc((most + 1) * sizeof(*mine));
    for (size_t i = 0; mine && i < job->ninputs; i++) {
        uint64_t uid = 0;
        int is_new = 0;
        for (size_t m = 0; m < job->inputs[i].nopen_members; m++) {
            const struct pw_missing_member *member = &job->inputs[i].open_members[m];
            if (m == 0 || member->uid != uid)
                is_new = !is_told(job, i, member->uid);
            uid = member->uid;
            if (is_new)
                mine[n++] = *member;
        }
    }
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    return n;
}

static size_t gather_calls(const struct pw_job *job, struct pw_row_c_open_call **all)
{
    size_t n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nopen_calls;
    struct pw_row_c_open_call *mine = malloc((n + 1) * sizeof(*mine));
    n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t k = 0; k < job->inputs[i].nopen_calls; k++)
            mine[n++] = job->inputs[i].open_calls[k];
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    return n;
}

static int is_open(const struct pw_row_c_open_call *calls, size_t n, uint64_t uid)
{
    for (size_t i = 0; i < n; i++)
        if (calls[i].comm_uid == uid)
            return 1;
    return 0;
}

/* How far each rank is on the communicators of the open calls. */
static size_t gather_comms(const struct pw_job *job, const struct pw_missing_input *in,
                           struct pw_missing_comm **all)
{
    size_t most = 0, n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].ncomms;
    struct pw_missing_comm *mine = malloc((most + 1) * sizeof(*mine));
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t c = 0; c < job->inputs[i].ncomms; c++) {
            const struct pw_row_comms *comm = &job->inputs[i].comms[c];
            if (is_open(in->calls, in->ncalls, comm->uid))
                mine[n++] =
                    (struct pw_missing_comm){comm->uid, job->inputs[i].rank, comm->collectives};
        }
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    return n;
}

static uint8_t *list_dumps(const struct pw_world *world)
{
    uint8_t *dumps = calloc((size_t)world->nranks + 1, sizeof(*dumps));
    for (int64_t r = 0; dumps && r < world->nranks; r++)
        dumps[r] = (uint8_t)(!world->ranks[r].present        ? PW_DUMP_NONE
                             : world->ranks[r].complete != 1 ? PW_DUMP_CUT
                             : world->ranks[r].events        ? PW_DUMP_FULL
                                                             : PW_DUMP_EMPTY);
    return dumps;
}

/* ---- messages: whether the other side has begun its part ---- */

/* The number of a rank in the communicator, whose members are still in its order; -1: not known. */
static int32_t number_in(const struct pw_missing_input *in, uint64_t uid, int64_t rank)
{
    size_t first = 0;
    while (first < in->nmembers && in->members[first].uid != uid)
        first++;
    for (size_t i = first; i < in->nmembers && in->members[i].uid == uid; i++)
        if (in->members[i].rank == rank)
            return (int32_t)(i - first);
    return -1;
}

/* The messages of an open call, and those of the other side of it, that dumps have. */
struct messages {
    int64_t own, other; /* -1: a dump has not all since the start */
};

/* Whether the dump has all operations since the start. */
static int is_whole(const struct pw_h5_file *file)
{
    struct pw_row_nccl *rows = NULL;
    size_t n = 0;
    const int has = pw_h5_file_read_all(file, PW_TABLE_nccl, (void *)&rows, &n) == 0 && n &&
                    rows[0].operation == 1;
    free(rows);
    return has;
}

/* Whose messages are counted: of the call's rank up to the call, or of its other side. */
struct side {
    const struct pw_row_c_open_call *call;
    int32_t peer; /* the partner's number in the communicator */
    int is_other;
};

static int64_t count_messages(const struct pw_input *input, const struct pw_row_comm_event *rows,
                              size_t n, struct side side)
{
    const uint16_t op = (side.call->op == PW_OP_Send) == side.is_other ? PW_OP_Recv : PW_OP_Send;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += rows[i].op == op && rows[i].peer == side.peer && rows[i].comm >= 0 &&
                 (size_t)rows[i].comm < input->ncomms &&
                 input->comms[rows[i].comm].uid == side.call->comm_uid &&
                 (side.is_other || rows[i].start <= side.call->start);
    return count;
}

static int is_message(const struct pw_row_c_open_call *call)
{
    return (call->op == PW_OP_Send || call->op == PW_OP_Recv) && call->peer >= 0;
}

/* Counts the messages of the open calls that this rank, or a message's other side, has. */
static void add_messages(const struct pw_input *input, const struct pw_missing_input *in,
                         struct messages *out)
{
    struct pw_row_comm_event *rows = NULL;
    struct pw_h5_file *file;
    size_t n = 0;
    if (pw_input_file(input, NULL, &file))
        return;
    if (is_whole(file) && pw_h5_file_read_all(file, PW_TABLE_comm_event, (void *)&rows, &n) == 0)
        for (size_t i = 0; i < in->ncalls; i++) {
            const struct pw_row_c_open_call *call = &in->calls[i];
            if (!is_message(call) || (call->rank != input->rank && call->peer != input->rank))
                continue;
            struct side side = {call, -1, call->peer == input->rank};
            side.peer = number_in(in, call->comm_uid, side.is_other ? call->rank : call->peer);
            if (side.peer >= 0)
                *(side.is_other ? &out[i].other : &out[i].own) =
                    count_messages(input, rows, n, side);
        }
    free(rows);
    pw_h5_file_close(file);
}

/* Marks the open messages of which the other side has begun its part; NULL: memory is short. */
static uint8_t *mark_begun(const struct pw_job *job, const struct pw_missing_input *in)
{
    struct messages *all = malloc((in->ncalls + 1) * sizeof(*all));
    uint8_t *begun = calloc(in->ncalls + 1, sizeof(*begun));
    int has = 0;
    for (size_t i = 0; all && i < in->ncalls; i++) {
        all[i] = (struct messages){-1, -1};
        has |= is_message(&in->calls[i]);
    }
    if (!pw_procs_all_ok(&job->procs, all && begun)) {
        free(all);
        free(begun);
        return NULL;
    }
    for (size_t i = 0; i < job->ninputs && has; i++)
        add_messages(&job->inputs[i], in, all);
    pw_ex_allreduce(PW_EX_IN_PLACE, all, 2 * in->ncalls, PW_EX_INT64_T, PW_EX_MAX, job->procs.comm);
    for (size_t i = 0; i < in->ncalls; i++)
        begun[i] = all[i].own > 0 && all[i].other >= all[i].own;
    free(all);
    return begun;
}

int pw_dumps_find(const struct pw_job *job, struct pw_row_c_hang **rows, size_t *n)
{
    struct pw_row_c_open_call *calls = NULL;
    struct pw_missing_input in = {.nranks = (size_t)job->world.nranks};
    int err = 0;
    *rows = NULL;
    *n = 0;
    if (!is_dump(job->world.imported))
        return 0;
    in.ncalls = gather_calls(job, &calls);
    in.calls = calls;
    in.nmembers = dumps_gather_members(job, &in.members);
    in.ncomms = gather_comms(job, &in, &in.comms);
    uint8_t *dumps = list_dumps(&job->world), *begun = mark_begun(job, &in);
    in.dumps = dumps;
    in.begun = begun;
    if (job->procs.process == 0)
        err = dumps && begun ? pw_missing_find(&in, rows, n) : -ENOMEM;
    free(dumps);
    free(begun);
    free(calls);
    free(in.members);
    free(in.comms);
    return pw_procs_worst(&job->procs, err);
}
