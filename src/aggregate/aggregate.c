/* Runs the passes of the merge in order, and writes their results; see aggregate.h. */
#include "aggregate/aggregate.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/checkpoint.h"
#include "aggregate/findings/evidence.h"
#include "aggregate/findings/findings.h"
#include "aggregate/findings/flops.h"
#include "aggregate/findings/opgrowth.h"
#include "aggregate/findings/runtimework.h"
#include "aggregate/findings/stretches.h"
#include "aggregate/gpu/gpudevices.h"
#include "aggregate/input/endings.h"
#include "aggregate/input/events.h"
#include "aggregate/input/job.h"
#include "aggregate/input/missing.h"
#include "aggregate/input/parallel.h"
#include "aggregate/input/windows.h"
#include "aggregate/match/communicators.h"
#include "aggregate/match/instances.h"
#include "aggregate/match/messages.h"
#include "aggregate/mergelock.h"
#include "aggregate/output/clusterfile.h"
#include "aggregate/secondpass/matrix.h"
#include "aggregate/steps/bins.h"
#include "aggregate/steps/inferredsteps.h"
#include "analysis/figures/figures.h"
#include "core/h5/clusterload.h"
#include "core/h5/epochs.h"
#include "core/log.h"
#include "core/readlimit.h"

static void write_attributes(struct pw_clusterfile *file, const struct pw_job *job)
{
    pw_clusterfile_set_int(file, "nranks", job->world.nranks);
    pw_clusterfile_set_int(file, "nhosts", job->world.nhosts);
    pw_clusterfile_set_int(file, "nsteps", (int64_t)job->world.nsteps);
    pw_clusterfile_set_int(file, "steps_inferred", job->world.steps_inferred);
    pw_clusterfile_set_int(file, "clock_error_max_ns", job->world.clock_error_max_ns);
    pw_clusterfile_set_int(file, "merge_processes", job->procs.processes);
    pw_clusterfile_set_int(file, "start_unix_ns", job->world.start_unix_ns);
    pw_clusterfile_set_int(file, "end_unix_ns", job->world.end_unix_ns);
    pw_clusterfile_set_int(file, "snapshot", job->world.is_snapshot);
    pw_clusterfile_set_int(
        file, "bins_start_ns",
        job->world.bins.end_ns > job->world.bins.start_ns ? job->world.bins.start_ns : -1);
    pw_clusterfile_set_int(file, "init_source", job->world.bins.init_source);
    pw_clusterfile_set_int(file, "bin_ns", job->world.bins.n ? job->world.bins.bin_ns : -1);
    pw_clusterfile_set_text(file, "job_id", job->world.job_id);
    pw_clusterfile_set_text(file, "command", job->world.command);
    pw_clusterfile_set_text(file, "imported", job->world.imported);
}

/* The state of a merge of one job. */
struct merge {
    struct pw_job *job;
    const char *dir, *output;
    const struct pw_merge_options *options;
    struct pw_matched matched;
    struct pw_share share;
    struct pw_optree operators, kernels;
    struct pw_matrix matrix;
    struct pw_roles roles;
    struct pw_amounts amounts;
    struct pw_findings findings;
    struct pw_endings endings;
    struct pw_clusterfile file;
};

/* The collectives that at least one rank recorded. */
struct collectives {
    const struct pw_world *world;
    const struct pw_instances *in;
    size_t *at, n;
};

static void make_collectives(void *context, size_t first, size_t count, void *to)
{
    const struct collectives *c = context;
    struct pw_row_c_collective *rows = to;
    for (size_t i = 0; i < count; i++)
        rows[i] = pw_collective_row(c->world, c->in, c->at[first + i]);
}

/* Where the share of a process begins in n rows: at the begin of a chunk. */
static size_t share_begin(const struct pw_procs *procs, size_t n, int process)
{
    size_t at = n * (size_t)process / (size_t)procs->processes;
    return process == procs->processes ? n : at - at % PW_CLUSTERFILE_CHUNK;
}

static void write_collectives(struct pw_clusterfile *file, const struct pw_job *job,
                              const struct pw_instances *in)
{
    struct collectives c = {&job->world, in, malloc(sizeof(size_t) * (in->n + 1)), 0};
    int all_ok = pw_procs_all_ok(&job->procs, c.at != NULL);
    for (size_t i = 0; all_ok && i < in->n; i++)
        if (in->items[i].nranks)
            c.at[c.n++] = i;
    const size_t first = share_begin(&job->procs, c.n, job->procs.process);
    const size_t end = share_begin(&job->procs, c.n, job->procs.process + 1);
    const struct pw_clusterfile_rows mine = {c.n, first, end - first};
    pw_clusterfile_write_made(file, PW_TABLE_c_collective, mine, make_collectives, &c);
    free(c.at);
}

/* Writes /open_calls in the order of ranks, for any number of processes. */
static void write_open_calls(struct pw_clusterfile *file, const struct pw_job *job)
{
    size_t n = 0, total = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nopen_calls;
    struct pw_row_c_open_call *mine = calloc(n + 1, sizeof(*mine));
    void *all = NULL;
    n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        for (size_t k = 0; k < input->nopen_calls; k++) {
            mine[n] = input->open_calls[k];
            mine[n].start = pw_input_time(input, mine[n].start);
            mine[n].seen_until = pw_input_time(input, mine[n].seen_until);
            n++;
        }
    }
    total = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &all);
    pw_clusterfile_write_root(file, PW_TABLE_c_open_call, job->procs.process == 0 ? total : 0, all);
    free(all);
    free(mine);
}

static void write_communicators(struct pw_clusterfile *file, const struct merge *m)
{
    struct pw_row_c_communicator *rows;
    size_t n;
    const int err = pw_communicators_make(m->job, &m->matched.instances, &rows, &n);
    if (err)
        file->error = file->error ? file->error : err;
    pw_clusterfile_write_root(file, PW_TABLE_c_communicator, n, rows);
    free(rows);
}

static void write_hang(struct pw_clusterfile *file, const struct pw_job *job)
{
    struct pw_row_c_hang *rows;
    size_t n;
    const int err = pw_dumps_find(job, &rows, &n);
    if (err)
        file->error = file->error ? file->error : err;
    pw_clusterfile_write_root(file, PW_TABLE_c_hang, n, rows);
    free(rows);
}

/* Of process 0 alone: other epochs are few, and small beside this one. */
static void write_epochs(struct pw_clusterfile *file, const struct merge *m)
{
    struct pw_row_c_epoch *rows = NULL;
    size_t n = 0;
    if (m->job->procs.process == 0 && pw_epochs_read(m->dir, &rows, &n))
        file->error = file->error ? file->error : -ENOMEM;
    pw_clusterfile_write_root(file, PW_TABLE_c_epoch, n, rows);
    free(rows);
}

static void write_operators(struct pw_clusterfile *file, const struct pw_operators *o)
{
    pw_clusterfile_write_root(file, PW_TABLE_c_operator, o->nops, o->ops);
    pw_clusterfile_write_root(file, PW_TABLE_c_operator_type, o->ntypes, o->types);
    pw_clusterfile_write_root(file, PW_TABLE_c_operator_shape, o->nshapes, o->shapes);
    pw_clusterfile_write_root(file, PW_TABLE_c_operator_stack, o->nstacks, o->stacks);
    pw_clusterfile_write_root(file, PW_TABLE_c_operator_rank, o->nranks, o->ranks);
}

/* A table of n x ranks rows, of which this process has the columns of its share. */
static struct pw_clusterfile_columns columns_of(const struct merge *m, size_t n)
{
    return (struct pw_clusterfile_columns){n, (size_t)m->job->world.nranks, m->share.first,
                                           m->share.count};
}

static void write_grid(struct pw_clusterfile *file, const struct merge *m,
                       enum pw_cluster_table_id table, size_t n, const void *rows)
{
    pw_clusterfile_write_grid(file, table, columns_of(m, n), rows);
}

static void mark_silent(const struct merge *m)
{
    for (size_t i = 0; i < m->job->ninputs; i++) {
        const size_t column = (size_t)m->job->inputs[i].rank - m->share.first;
        if (column >= m->share.count)
            continue;
        if (m->job->inputs[i].is_silent)
            m->share.is_silent[column] = PW_SHARE_NO_COMMUNICATION;
        else if (m->job->inputs[i].device_ops)
            m->share.is_silent[column] = PW_SHARE_NO_WAITS;
    }
}

/* Writes the tables of GPUs; they are empty for a job without GPUs. */
static void write_gpus(struct pw_clusterfile *file, const struct merge *m)
{
    const struct pw_kernels *k = &m->findings.kernels;
    const int root = m->job->procs.process == 0;
    write_grid(file, m, PW_TABLE_c_gpu_trace, m->share.gpu ? m->job->world.nsteps : 0,
               m->share.gpu);
    pw_clusterfile_write_root(file, PW_TABLE_c_gpu_rank, root ? k->nranks : 0, k->ranks);
    pw_clusterfile_write_root(file, PW_TABLE_c_gpu_device, root ? k->ndevices : 0, k->devices);
    pw_clusterfile_write_root(file, PW_TABLE_c_kernel, k->nkernels, k->kernels);
    pw_clusterfile_write_root(file, PW_TABLE_c_kernel_rank, k->nby_rank, k->by_rank);
}

static void write_findings(struct pw_clusterfile *file, const struct merge *m)
{
    const struct pw_findings *f = &m->findings;
    pw_clusterfile_write_root(file, PW_TABLE_c_collective_stat, f->nstats, f->stats);
    pw_clusterfile_write_root(file, PW_TABLE_c_p2p, f->pairs.n, f->pairs.rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_link, f->pairs.nlinks, f->pairs.links);
    pw_clusterfile_write_root(file, PW_TABLE_c_straggler, f->nstragglers, f->stragglers);
    pw_clusterfile_write_root(file, PW_TABLE_c_efficiency, f->nefficiency, &f->efficiency);
    pw_clusterfile_write_root(file, PW_TABLE_c_whatif, f->whatif.nrows, f->whatif.rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_path, f->whatif.npath, f->whatif.path);
    pw_clusterfile_write_root(file, PW_TABLE_c_host, f->whatif.nhosts, f->whatif.hosts);
    pw_clusterfile_write_root(file, PW_TABLE_c_role, m->roles.n, m->roles.rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_imbalance, f->imbalance.n, f->imbalance.rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_trend, f->trends.n, f->trends.rows);
    pw_clusterfile_write_root(file, PW_TABLE_c_network, f->network.n, f->network.rows);
    write_operators(file, &f->operators);
    write_gpus(file, m);
    pw_clusterfile_write_root(file, PW_TABLE_c_flops, f->flops.nranks, f->flops.ranks);
    pw_clusterfile_write_root(file, PW_TABLE_c_step_flops, f->flops.nsteps, f->flops.steps);
    pw_samples_write(file, &m->job->procs, &f->samples);
}

/* Makes the rows of advice about a cluster, malloc'ed. Returns 0 or -ENOMEM. */
static int make_advice(const struct pw_cluster *cluster, struct pw_row_c_advice **rows, size_t *n)
{
    struct pw_figures *figures = NULL;
    struct pw_advice *advice = malloc(PW_ADVICE_MAX * sizeof(*advice));
    *rows = calloc(PW_ADVICE_MAX, sizeof(**rows));
    if (advice && *rows && !pw_figures_create(cluster, &figures)) {
        const struct pw_advice_input input = pw_figures_advice(figures);
        *n = pw_advice_collect(&input, advice);
        for (size_t i = 0; i < *n; i++)
            (*rows)[i] = pw_advice_row(&input, &advice[i]);
    }
    const int err = figures ? 0 : -ENOMEM;
    pw_figures_destroy(figures);
    free(advice);
    return err;
}

/* Loads what has been written, on process 0. Returns 0 or -errno. */
static int load_written(const struct pw_clusterfile *file, struct pw_cluster **out)
{
    return H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0 ? -EIO : pw_cluster_load(file->part, out);
}

/* Writes /advice: the rules read the file as reports do, so that reports give the same advice.
 * Collective. */
static void advise_write(struct pw_clusterfile *file)
{
    struct pw_cluster *cluster = NULL;
    struct pw_row_c_advice *rows = NULL;
    size_t n = 0;
    int err = file->process == 0 && !file->error ? load_written(file, &cluster) : 0;
    if (cluster)
        err = make_advice(cluster, &rows, &n);
    file->error = file->error ? file->error : err;
    pw_cluster_destroy(cluster);
    pw_clusterfile_write_root(file, PW_TABLE_c_advice, n, rows);
    free(rows);
}

/* The advice needs only the tables already written, so the data by step and rank are freed
 * first. */
static void write_advice(struct pw_clusterfile *file, struct merge *m)
{
    pw_matrix_fini(&m->matrix);
    pw_share_fini(&m->share);
    pw_instances_fini(&m->matched.instances);
    advise_write(file);
}

static void write_all(struct pw_clusterfile *file, struct merge *m)
{
    struct pw_job *job = m->job;
    const size_t nranks = (size_t)job->world.nranks;
    const struct pw_alignment *clocks = &m->matched.clocks;
    write_attributes(file, job);
    pw_clusterfile_write_root(file, PW_TABLE_c_rank, nranks, job->world.ranks);
    pw_clusterfile_write_root(file, PW_TABLE_c_step, m->findings.nsteps, m->findings.steps);
    write_collectives(file, job, &m->matched.instances);
    write_communicators(file, m);
    write_findings(file, m);
    pw_windows_write(file, job);
    pw_job_gather_notes(job);
    if (job->procs.process == 0 && !m->options->quiet)
        pw_points_say(job);
    write_open_calls(file, job);
    write_hang(file, job);
    pw_endings_write(file, job, &m->endings);
    write_epochs(file, m);
    pw_clusterfile_write_root(file, PW_TABLE_c_clock, nranks, clocks->ranks);
    pw_clusterfile_write_root(file, PW_TABLE_c_clock_knot, clocks->nknots, clocks->knots);
    pw_clusterfile_write_root(file, PW_TABLE_c_completeness,
                              job->procs.process == 0 ? job->nnotes : 0, job->notes);
    write_advice(file, m);
    pw_clusterfile_link_ranks(file, job->world.ranks, nranks);
}

/* Gathers on process 0 the data for conclude(). Collective. Returns 0 or -ENOMEM. */
static int gather_all(struct merge *m, struct pw_pairs *pairs)
{
    struct pw_graph_parts *parts = &m->matched.parts;
    int err = pw_graph_gather(parts, &m->job->procs);
    int gathered = pw_pairs_make(pairs, m->job, &m->matched.messages);
    gathered = gathered ? gathered : pw_roles_gather(&m->roles, m->job);
    gathered = gathered ? gathered : pw_amounts_gather(&m->amounts, m->job, pairs, parts);
    return err ? err : gathered;
}

static void say_bins_and_graph(const struct pw_world *world, const struct pw_graph_parts *parts)
{
    const struct pw_binning *b = &world->bins;
    if (b->n)
        pw_debug(PW_LOG_MERGE, 2, "the run is cut into %zu bins of %.3f s", b->n,
                 (double)b->bin_ns / 1e9);
    else
        pw_debug(PW_LOG_MERGE, 2, "no bins of the run: %s",
                 b->end_ns > b->start_ns ? "it is too short for them"
                                         : "a clock is not aligned, or nothing has a time");
    if (parts->asynchronous)
        pw_debug(PW_LOG_MERGE, 2, "no replay: collectives went on beside the ranks' own work");
    else if (parts->nsteps < world->nsteps)
        pw_debug(PW_LOG_MERGE, 2, "the first %zu of %zu steps are replayed: more events do not fit",
                 parts->nsteps, world->nsteps);
}

static void say_roles_and_amounts(const struct pw_roles *roles, const struct pw_amounts *amounts)
{
    if (roles->n)
        pw_debug(PW_LOG_MERGE, 2, "%zu roles of ranks, by %.16s", roles->nroles,
                 roles->rows[0].how);
    else
        pw_debug(PW_LOG_MERGE, 2, "all ranks have one role: no names, command or messages differ");
    pw_debug(PW_LOG_MERGE, 2, "amounts of work: %s", amounts->amount ? amounts->how : "not known");
}

/* conclude()'s part on process 0. The steps of its inputs, which nothing here reads, are kept in
 * less memory meanwhile, because the replay of the run needs most memory. Returns 0 or -ENOMEM. */
static int find_findings(struct merge *m, const struct pw_pairs *pairs)
{
    struct pw_job *job = m->job;
    const struct pw_findings_input input = {
        &job->world,       &m->share, &m->matrix, &m->matched.instances,
        &m->matched.parts, &m->roles, &m->amounts};
    for (size_t i = 0; i < job->ninputs; i++)
        pw_input_pack_steps(&job->inputs[i]);
    malloc_trim(0);
    int err = pw_roles_find(&m->roles, &job->world, pairs, &m->matched.parts);
    if (!err) {
        say_bins_and_graph(&job->world, &m->matched.parts);
        say_roles_and_amounts(&m->roles, &m->amounts);
        err = pw_findings_make(&m->findings, &input);
    }
    for (size_t i = 0; i < job->ninputs && !err; i++)
        err = pw_input_unpack_steps(&job->inputs[i]);
    return err;
}

/* Makes the findings on process 0. Collective. Returns 0 or -ENOMEM. */
static int conclude(struct merge *m)
{
    struct pw_job *job = m->job;
    struct pw_findings *f = &m->findings;
    const int is_root = job->procs.process == 0;
    struct pw_pairs pairs;
    int err = pw_procs_worst(&job->procs, gather_all(m, &pairs));
    pw_parallel_share_cores(&job->procs);
    if (is_root && !err)
        err = find_findings(m, &pairs);
    f->pairs = pairs;
    err = pw_procs_from_root(&job->procs, err);
    if (err)
        return err;
    err = pw_kernels_make(&f->kernels, job, &m->kernels, m->share.gpu_ranks, m->share.ngpu_ranks);
    if (!err)
        f->kernels.ndevices = pw_gpudevices_gather(&job->procs, m->share.gpu_devices,
                                                   m->share.ngpu_devices, &f->kernels.devices);
    err = err ? err : pw_evidence_find(f, job, &m->share, &m->matrix);
    if (is_root && !err)
        err = pw_stretches_find(f, &job->world, &m->matrix, &m->matched.instances);
    if (is_root && !err)
        err = pw_periods_find(f, &m->matrix);
    err = pw_procs_worst(&job->procs, err);
    err = err ? err : pw_runtimework_find(f, job);
    return err ? err : pw_opgrowth_find(f, job, &m->share, &m->operators);
}

/* Notes collectives and messages that could not be matched. Collectives are known on all processes,
 * messages only on the process that read them. Returns 1 when some members did not record a
 * collective. */
static int note_matches(struct pw_job *job, const struct pw_instances *in,
                        const struct pw_messages *messages)
{
    int64_t incomplete = 0, mixed = 0, unmatched = 0, seen = 0;
    pw_ex_reduce(&messages->unmatched, &unmatched, 1, PW_EX_INT64_T, PW_EX_SUM, 0, job->procs.comm);
    for (size_t i = 0; i < in->n; i++) {
        mixed += in->items[i].mixed;
        seen += in->items[i].nranks > 0;
        incomplete +=
            in->items[i].nranks > 0 && in->items[i].nranks < pw_instances_comm(in, i)->size;
    }
    if (job->procs.process != 0)
        return incomplete > 0;
    pw_debug(PW_LOG_MERGE, 1,
             "%lld collectives, %lld of them not by all members, %lld with members that disagree; "
             "%lld messages without their other side",
             (long long)seen, (long long)incomplete, (long long)mixed, (long long)unmatched);
    if (incomplete)
        pw_job_note(job, -1, "collectives_incomplete", incomplete,
                    "not all members recorded them; their time does not count as own work");
    if (mixed)
        pw_job_note(job, -1, "collectives_mismatched", mixed,
                    "their members disagree about the operation; they are not used");
    if (unmatched)
        pw_job_note(job, -1, "messages_unmatched", unmatched,
                    "sends and receives whose other side was not recorded");
    return incomplete > 0;
}

/* Notes that the program completes most of its requests by tests. */
static void note_polls(struct pw_job *job)
{
    int64_t mine[2] = {0, 0}, all[2] = {0, 0};
    for (size_t i = 0; i < job->ninputs; i++) {
        mine[0] += job->inputs[i].tested;
        mine[1] += job->inputs[i].waited;
    }
    pw_ex_reduce(mine, all, 2, PW_EX_INT64_T, PW_EX_SUM, 0, job->procs.comm);
    if (job->procs.process == 0 && all[0] > all[1])
        pw_job_note(
            job, -1, "requests_polled", all[0],
            "calls of MPI_Test and the like completed requests, more than waits did; what is "
            "between them counts as work, also where ranks wait so");
}

static void say_clocks_and_steps(const struct pw_world *world)
{
    pw_debug(PW_LOG_CLOCK, 1, "%d clocks: %s; largest error %lld ns", (int)world->ndomains,
             world->ndomains < 2   ? "no alignment is needed"
             : world->infer_clocks ? "probes, and the order of calls"
                                   : "not aligned, as the run asked",
             (long long)world->clock_error_max_ns);
    pw_debug(PW_LOG_MERGE, 1, "%zu steps, %s%s", world->nsteps,
             world->steps_inferred ? "found from calls: " : "marked by the program",
             world->steps_inferred ? world->steps_found : "");
    if (!world->nsteps)
        pw_debug(PW_LOG_MERGE, 2, "no steps: none is marked, and %s",
                 world->clock_error_max_ns < 0 ? "clocks that are not aligned cannot cut others'"
                                               : "the run is too short for slices");
    if (world->steps_cut != PW_CUT_NOT)
        pw_debug(PW_LOG_MERGE, 2,
                 "all ranks are cut at the lowest rank's times: the steps begin "
                 "with no collective of all ranks");
}

/* Aligns the clocks and matches collectives and messages, or loads these results from the
 * checkpoint of an interrupted merge. Returns 0 or -errno. */
static int match(struct merge *merge)
{
    struct pw_matched *m = &merge->matched;
    struct pw_job *job = merge->job;
    if (pw_ncclranks_make(job) || pw_hostcopies_find(job))
        return -ENOMEM;
    pw_instances_number(&m->instances, job);
    pw_graph_begin(&m->parts, job);
    int there = pw_checkpoint_load(merge->output, job, m);
    if (there) {
        if (there > 0 && job->procs.process == 0 && !merge->options->quiet)
            pw_say("continuing a merge that was interrupted");
        if (there > 0)
            pw_infer_steps(job);
        return there < 0 ? there : 0;
    }
    int err = pw_alignment_make(&m->clocks, job, &m->instances);
    if (!err) {
        pw_infer_steps(job);
        pw_infer_note(job);
        pw_job_note_steps(job);
    }
    if (!err && job->procs.process == 0)
        say_clocks_and_steps(&job->world);
    pw_graph_begin(&m->parts, job); /* a second time, because times are now on the cluster clock */
    err = err ? err : pw_instances_build(&m->instances, job);
    err = err ? err : pw_messages_match(&m->messages, job, &m->parts);
    if (!err)
        pw_checkpoint_save(merge->output, job, m);
    return err;
}

/* Writes the means of the ranks. */
static void write_means(struct merge *m)
{
    const size_t n = m->share.nsums, is_root = m->job->procs.process == 0;
    struct pw_row_c_rank_mean *rows = is_root ? calloc(n + 1, sizeof(*rows)) : NULL;
    if (rows)
        pw_share_means(m->share.sums, n, rows);
    else if (is_root)
        m->file.error = m->file.error ? m->file.error : -ENOMEM;
    pw_clusterfile_write_root(&m->file, PW_TABLE_c_rank_mean, rows && n ? n + 1 : 0, rows);
    free(rows);
}

static void take_steps(void *context, size_t column, size_t first, size_t count, void *rows)
{
    pw_share_rows(context, column, first, count, rows);
}

/* Creates the file and writes the tables by step or bin and rank. Of the step trace, the other
 * passes need three members. On an error there is no file. */
static int begin_file(struct merge *m)
{
    const size_t nsteps = m->job->world.nsteps;
    int err = pw_clusterfile_create(m->output, m->job->procs.comm, &m->file);
    if (err)
        return err;
    pw_clusterfile_write_made_grid(&m->file, PW_TABLE_c_step_trace, columns_of(m, nsteps),
                                   take_steps, &m->share);
    write_grid(&m->file, m, PW_TABLE_c_phase_trace, nsteps, m->share.phases);
    write_means(m);
    write_grid(&m->file, m, PW_TABLE_c_bin_trace, m->job->world.bins.n, m->share.bins);
    write_grid(&m->file, m, PW_TABLE_c_part_trace, PW_PART_END, m->share.parts);
    pw_rowpack_keep(&m->share.steps, 1U << PW_STEP_MEMBER(own_ns) | 1U << PW_STEP_MEMBER(total_ns) |
                                         1U << PW_STEP_MEMBER(comm_exposed_ns));
    err = pw_procs_worst(&m->job->procs, m->file.error);
    return err ? pw_clusterfile_close(&m->file) : 0;
}

/* Writes the other tables. */
static int end_file(struct merge *m)
{
    write_all(&m->file, m);
    const int err = pw_clusterfile_close(&m->file);
    if (!err)
        pw_checkpoint_remove(m->output, &m->job->procs);
    return err;
}

/* Runs the second pass over each rank's events. Returns 0 or -ENOMEM. */
static int build_share(struct merge *m)
{
    struct pw_job *job = m->job;
    const struct pw_share_parts parts = {&m->matched.instances, &m->matched.messages,
                                         &m->matched.parts,     &m->operators,
                                         &m->kernels,           &m->options->points};
    int err = pw_endings_find(&m->endings, job);
    if (err)
        return err;
    pw_graph_end(&m->matched.parts, job);
    pw_bins_choose(job);
    err = pw_share_build(&m->share, job, &parts);
    if (!err) {
        pw_instances_share_waits(&m->matched.instances, &job->procs);
        const int is_incomplete = note_matches(job, &m->matched.instances, &m->matched.messages);
        note_polls(job);
        pw_unrecorded_note_silence(job, is_incomplete);
        mark_silent(m);
        pw_share_sum_up(&m->share, job);
    }
    return err;
}

static void merge_fini(struct merge *m)
{
    pw_optree_fini(&m->operators);
    pw_optree_fini(&m->kernels);
    pw_graph_parts_fini(&m->matched.parts);
    pw_findings_fini(&m->findings);
    pw_flops_fini(&m->findings.flops);
    pw_roles_fini(&m->roles);
    pw_amounts_fini(&m->amounts);
    pw_matrix_fini(&m->matrix);
    pw_share_fini(&m->share);
    pw_messages_fini(&m->matched.messages);
    pw_instances_fini(&m->matched.instances);
    pw_alignment_fini(&m->matched.clocks);
    pw_endings_fini(&m->endings);
}

/* The passes over the rank files. Returns 0 or -errno. */
static int prepare(struct merge *m)
{
    int err = match(m);
    return err ? err : build_share(m);
}

/* Returns 0 or -errno. */
static int analyse(struct merge *m)
{
    struct pw_findings *f = &m->findings;
    int err = pw_matrix_gather(&m->matrix, m->job, &m->share);
    pw_rowpack_keep(&m->share.steps, 1U << PW_STEP_MEMBER(own_ns) | 1U << PW_STEP_MEMBER(total_ns));
    err = err ? err : conclude(m);
    err = err ? err : pw_operators_make(&f->operators, m->job, &m->operators, 0);
    err = err ? err : pw_samples_make(&f->samples, m->job);
    err = err ? err : pw_flops_make(&f->flops, m->job, &m->share, &m->options->flops);
    pw_network_drop_contended(&f->network, (size_t)m->job->world.nranks, f->samples.usages.rows,
                              f->samples.usages.n);
    pw_optree_fini(&m->operators); /* the trees are large, and needed no more */
    pw_optree_fini(&m->kernels);
    return err;
}

static int merge_job(struct pw_job *job, const char *dir, const char *output,
                     const struct pw_merge_options *options)
{
    struct merge m = {.job = job, .dir = dir, .output = output, .options = options};
    int err = prepare(&m), written = err ? 0 : begin_file(&m);
    if (!err && !written) {
        err = analyse(&m);
        if (err)
            pw_clusterfile_abandon(&m.file);
        else
            written = end_file(&m);
    }
    if (err == -EIO && job->procs.process == 0)
        pw_error("cannot continue the interrupted merge; remove %s.matched-* and merge again",
                 output);
    else if (err && job->procs.process == 0)
        pw_error("cannot merge: %s", pw_readlimit_remedy(err));
    else if (written && job->procs.process == 0)
        pw_error("cannot write %s: %s", output, pw_readlimit_remedy(written));
    merge_fini(&m);
    return err ? err : written;
}

/* Process 0 waits for the lock. The other processes sleep until it has it. */
static int take_lock(struct pw_mergelock *lock, pw_ex_comm comm, const char *output,
                     const struct pw_merge_options *options)
{
    struct pw_procs procs = {.comm = comm};
    int err = 0;
    pw_ex_rank(comm, &procs.process);
    *lock = (struct pw_mergelock){.fd = -1};
    if (procs.process == 0) {
        err = pw_mergelock_take(lock, output, options->wait_s, options->quiet);
        if (err)
            pw_error("another merge is writing %s; try again when it has ended", output);
    }
    return pw_procs_from_root(&procs, err);
}

int pw_aggregate(pw_ex_comm comm, const char *dir, const char *output,
                 const struct pw_merge_options *options)
{
    struct pw_job job;
    struct pw_mergelock lock;
    int quiet = options->quiet, err = take_lock(&lock, comm, output, options);
    if (err)
        return err;
    err = pw_job_open(&job, comm, dir, quiet);
    if (!err) {
        if (job.procs.process == 0)
            pw_debug(PW_LOG_MERGE, 1, "job %s: %lld ranks on %lld hosts, %lld clocks",
                     job.world.job_id, (long long)job.world.nranks, (long long)job.world.nhosts,
                     (long long)job.world.ndomains);
        pw_gaps_note(&job);
        pw_unrecorded_note(&job);
        pw_gpuhealth_note(&job);
        err = merge_job(&job, dir, output, options);
    }
    pw_job_close(&job);
    pw_mergelock_release(&lock, output);
    return err;
}
