/* Finds steps, stragglers and efficiency from the gathered step trace; see findings.h. */
#include "aggregate/findings/findings.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/match/instances.h"
#include "analysis/statistics.h"
#include "analysis/steptimes.h"
#include "analysis/straggler.h"
#include "analysis/thresholds.h"
#include "core/log.h"
#include "core/sort.h"

static size_t slowest_rank(const struct pw_matrix *m, size_t step)
{
    size_t slowest = 0;
    for (size_t r = 1; r < m->nranks; r++)
        if (m->own_ns[step * m->nranks + r] > m->own_ns[step * m->nranks + slowest])
            slowest = r;
    return slowest;
}

static int64_t longest_total(const struct pw_matrix *m, size_t step)
{
    int64_t longest = -1;
    for (size_t r = 0; r < m->nranks; r++)
        if (m->total_ns[step * m->nranks + r] > longest)
            longest = m->total_ns[step * m->nranks + r];
    return longest;
}

/* The length of each step, from the times of all ranks; malloc'ed. NULL when memory is short. */
static struct pw_stepwall *find_walls(const struct pw_world *world, const struct pw_share *share,
                                      const struct pw_matrix *m)
{
    struct pw_stepwall *walls = malloc(sizeof(*walls) * (world->nsteps + 1));
    struct pw_stepwall **order = malloc(sizeof(struct pw_stepwall *) * (world->nsteps + 1));
    for (size_t s = 0; s < world->nsteps && walls; s++)
        walls[s] =
            (struct pw_stepwall){share->step_start[s], share->step_end[s], longest_total(m, s), -1};
    if (walls && order)
        pw_stepwall_find(walls, world->nsteps, order);
    else
        free(walls);
    walls = order ? walls : NULL;
    free(order);
    return walls;
}

static int make_steps(struct pw_findings *f, const struct pw_world *world,
                      const struct pw_share *share, const struct pw_matrix *m)
{
    const int is_aligned = world->clock_error_max_ns >= 0;
    f->steps = calloc(world->nsteps + 1, sizeof(*f->steps));
    struct pw_stepwall *walls = find_walls(world, share, m);
    if (!f->steps || !walls) {
        free(walls);
        return -ENOMEM;
    }
    for (size_t s = 0; s < world->nsteps; s++)
        f->steps[s] = (struct pw_row_c_step){
            .step = world->step_numbers[s],
            .start = share->step_start[s] + world->epoch_ns,
            .end = share->step_end[s] + world->epoch_ns,
            .duration_ns = is_aligned ? walls[s].wall : walls[s].longest,
            .slowest_rank = (int32_t)slowest_rank(m, s),
            .recorded =
                share->step_recorded[s] > 0 ? (uint8_t)share->step_recorded[s] : PW_RECORDED_ACTIVE,
        };
    f->nsteps = world->nsteps;
    free(walls);
    return 0;
}

/* Copies the measured steps to a matrix of their own; rows[i] is the step of the job that its step
 * i is. Returns how many. */
static size_t select_measured(const struct pw_findings *f, const struct pw_matrix *m,
                              struct pw_matrix *out, size_t *rows)
{
    size_t n = 0, width = m->nranks;
    for (size_t s = 0; s < f->nsteps; s++) {
        if (f->steps[s].recorded != PW_RECORDED_ACTIVE)
            continue;
        memcpy(out->own_ns + n * width, m->own_ns + s * width, sizeof(int64_t) * width);
        memcpy(out->total_ns + n * width, m->total_ns + s * width, sizeof(int64_t) * width);
        memcpy(out->useful_ns + n * width, m->useful_ns + s * width, sizeof(int64_t) * width);
        memcpy(out->phase_ns + n * width * PW_PHASES, m->phase_ns + s * width * PW_PHASES,
               sizeof(int64_t) * width * PW_PHASES);
        rows[n++] = s;
    }
    return n;
}

struct pw_row_c_straggler pw_findings_straggler(const struct pw_world *world, size_t rank,
                                                int64_t lost_ns)
{
    struct pw_row_c_straggler row = {
        .rank = (int32_t)rank,
        .kind = PW_STRAGGLER_STRETCH,
        .first_step = -1,
        .last_step = -1,
        .excess_ns = lost_ns,
        .blame_ns = -1,
        .critical_ns = -1,
        .gain_ns = -1,
        .phase = PW_PHASE_NONE,
        .cause = PW_CAUSE_UNKNOWN,
        .start = world->bins.start_ns,
        .lost_ns = lost_ns,
    };
    memcpy(row.hostname, world->ranks[rank].hostname, sizeof(row.hostname));
    return row;
}

static struct pw_row_c_straggler straggler_row(const struct pw_findings *f,
                                               const struct pw_measured *measured,
                                               const struct pw_instances *in,
                                               const struct pw_straggler_found *found)
{
    const size_t *rows = measured->rows;
    struct pw_row_c_straggler row =
        pw_findings_straggler(measured->world, found->rank, found->lost_ns);
    row.kind = (uint8_t)found->kind;
    row.first_step = f->steps[rows[found->first]].step;
    row.last_step = f->steps[rows[found->last]].step;
    row.steps_hit = found->hits;
    row.excess_ns = found->excess_ns;
    row.gain_ns = found->gain_ns;
    row.slowdown = found->slowdown;
    row.phase = (uint8_t)found->phase;
    row.confidence = found->confidence;
    row.start = f->steps[rows[found->first]].start;
    row.end = f->steps[rows[found->last]].end;
    row.without_clocks = found->without_clocks != 0;
    const struct pw_blame blame = pw_collective_sum_blame(in, row.rank, INT64_MIN, INT64_MAX);
    row.blame_ns = blame.blame_ns;
    row.critical_ns = blame.critical_ns;
    return row;
}

static int by_gain(const void *a, const void *b)
{
    const struct pw_row_c_straggler *x = a, *y = b;
    if (x->gain_ns != y->gain_ns)
        return x->gain_ns > y->gain_ns ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Replays the run, if it has a graph, and sorts the stragglers by their gain. */
static int replay(struct pw_findings *f, const struct pw_findings_input *in,
                  const struct pw_whatif_stragglers *stragglers)
{
    struct pw_graph graph;
    malloc_trim(0); /* the graph is the largest of all, and what was freed is in pieces */
    int none = pw_graph_build(&graph, in->parts, in->world, in->instances);
    const struct pw_whatif_run run = {none ? NULL : &graph, in->world, in->instances};
    pw_graph_parts_fini(in->parts);
    int err = none == -ENOMEM ? none : 0;
    if (!none)
        err = pw_imbalance_share_steps(&f->imbalance, &graph, in->roles, stragglers);
    err = err ? err
              : pw_whatif_make(&f->whatif, &run, stragglers, f->stragglers, &f->imbalance.changes);
    err = err || none ? err : pw_network_find(&f->network, &graph, in->world, in->instances);
    pw_graph_fini(&graph);
    pw_sort(f->stragglers, f->nstragglers, sizeof(*f->stragglers), by_gain);
    return err;
}

static size_t known_in_step(const struct pw_matrix *m, size_t step)
{
    size_t n = 0;
    for (size_t r = 0; r < m->nranks; r++)
        n += m->own_ns[step * m->nranks + r] >= 0;
    return n;
}

/* The share of the measured steps that a straggler must have lost. */
static double least_share(const struct pw_matrix *m, const struct pw_straggler_found *found)
{
    if (known_in_step(m, found->first) == 2)
        return found->has_changed ? PW_STRAGGLER_LOSS_CHANGED : PW_STRAGGLER_LOSS_OF_TWO;
    return found->last == 0 ? PW_STRAGGLER_LOSS_FIRST : PW_STRAGGLER_LOSS;
}

/* Keeps the stragglers that lost enough. Returns how many are left. */
static size_t keep_relevant(const struct pw_matrix *m, struct pw_straggler_found *found, size_t n)
{
    int64_t elapsed = 0;
    size_t kept = 0;
    for (size_t s = 0; s < m->nsteps; s++)
        elapsed += longest_total(m, s) > 0 ? longest_total(m, s) : 0;
    for (size_t i = 0; i < n; i++) {
        const int keep = (double)found[i].lost_ns >= least_share(m, &found[i]) * (double)elapsed;
        pw_debug(PW_LOG_VERDICT, keep ? 1 : 2, "rank %zu lost %.3f ms of steps of %.3f ms: %s",
                 found[i].rank, (double)found[i].lost_ns / 1e6, (double)elapsed / 1e6,
                 keep ? "looked into" : "too little to be looked into");
        if (keep)
            found[kept++] = found[i];
    }
    return kept;
}

/* Whether at most half of the collectives of libraries other than MPI have more than the time of
 * their request. Then the time that a rank waits in them for another, wherever its host blocks,
 * counts as its own work. */
static int are_waits_hidden(const struct pw_instances *in)
{
    size_t untimed = 0, timed = 0;
    for (size_t i = 0; i < in->n; i++) {
        const int is_other = in->items[i].nranks && in->items[i].source != PW_SOURCE_MPI;
        untimed += is_other && in->items[i].untimed;
        timed += is_other && !in->items[i].untimed;
    }
    return untimed && untimed >= timed;
}

/* Keeps the stragglers whose excess is in the phase that waits for data: it is no wait for another
 * rank. Returns how many are left. */
static size_t keep_data(struct pw_straggler_found *found, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (found[i].phase == PW_PHASE_DATA)
            found[kept++] = found[i];
        else
            pw_debug(PW_LOG_VERDICT, 1, "rank %zu may wait in operations that have no times",
                     found[i].rank);
    return kept;
}

/* Whether waits, which are differences of two ranks' times, are lost in the clock error. */
static int clocks_are_coarse(const struct pw_world *world, const struct pw_matrix *m)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < m->nsteps * m->nranks; i++)
        if (m->total_ns[i] >= 0) {
            sum += (double)m->total_ns[i];
            n++;
        }
    return n && (world->clock_error_max_ns < 0 ||
                 (double)world->clock_error_max_ns > PW_CLOCK_COARSE * sum / (double)n);
}

/* Compares the time of each rank outside communication. Both the step that the program marked and
 * the time in communication are of one clock, so no error of clocks is in it. */
static void find_without_clocks(struct pw_findings *f, const struct pw_matrix *m,
                                struct pw_straggler_input *input, void *scratch,
                                struct pw_straggler_found *found)
{
    int64_t *none = calloc(m->nranks + 1, sizeof(*none));
    if (!none)
        return;
    input->own_ns = input->useful_ns;
    input->useful_ns = NULL;
    input->error_ns = none;
    f->nstragglers =
        keep_relevant(m, found, pw_straggler_find(input, scratch, found, PW_MOST_STRAGGLERS));
    for (size_t i = 0; i < f->nstragglers; i++)
        found[i].without_clocks = 1;
    free(none);
}

/* Finds the stragglers, after subtracting work that differs by design. Returns 0 or -ENOMEM. */
static int find_in(struct pw_findings *f, const struct pw_findings_input *in,
                   const struct pw_matrix *m, const int64_t *errors,
                   struct pw_straggler_found *found)
{
    const struct pw_world *world = in->world;
    const struct pw_matrix *from = f->imbalance.adjusted.nsteps ? &f->imbalance.adjusted : m;
    void *scratch = malloc(pw_straggler_scratch(m->nsteps, m->nranks) + 1);
    int64_t *host_of = malloc(sizeof(*host_of) * (m->nranks + 1));
    size_t nhosts;
    struct pw_straggler_input input = {m->nsteps,       m->nranks,      from->own_ns,
                                       m->total_ns,     from->phase_ns, errors,
                                       from->useful_ns, host_of,        !world->steps_inferred};
    int err = scratch && host_of ? pw_world_number_hosts(world, host_of, &nhosts) : -ENOMEM;
    if (!err)
        f->nstragglers =
            keep_relevant(m, found, pw_straggler_find(&input, scratch, found, PW_MOST_STRAGGLERS));
    if (!err && !f->nstragglers && !world->steps_inferred && clocks_are_coarse(world, m))
        find_without_clocks(f, m, &input, scratch, found);
    if (f->nstragglers && are_waits_hidden(in->instances))
        f->nstragglers = keep_data(found, f->nstragglers);
    free(scratch);
    free(host_of);
    return err;
}

static int find_stragglers(struct pw_findings *f, const struct pw_findings_input *in,
                           const struct pw_measured *measured)
{
    const struct pw_world *world = in->world;
    const struct pw_matrix *m = measured->matrix;
    int64_t *errors = malloc(sizeof(*errors) * (m->nranks + 1));
    struct pw_straggler_found *found = malloc(sizeof(*found) * PW_MOST_STRAGGLERS);
    f->stragglers = calloc(PW_MOST_STRAGGLERS, sizeof(*f->stragglers));
    f->inside = calloc(m->nranks + 1, sizeof(*f->inside));
    int err = errors && found && f->stragglers && f->inside ? 0 : -ENOMEM;
    /* A rank without a file has no work in the matrix, so it has no clock error either. */
    for (size_t r = 0; errors && r < m->nranks; r++)
        errors[r] = world->ranks[r].present ? world->ranks[r].clock_error_ns : 0;
    err = err ? err : pw_imbalance_find(&f->imbalance, measured, in->roles, in->amounts, errors);
    err = err ? err : find_in(f, in, m, errors, found);
    for (size_t i = 0; !err && i < f->nstragglers; i++) {
        f->stragglers[i] = straggler_row(f, measured, in->instances, &found[i]);
        f->inside[found[i].rank] = found[i].is_inside != 0;
    }
    err = err ? err : pw_imbalance_find_peers(&f->imbalance, measured, found, f->nstragglers);
    const struct pw_whatif_stragglers stragglers = {found, f->nstragglers, measured->rows};
    err = err ? err : replay(f, in, &stragglers);
    if (!err)
        pw_imbalance_price(&f->imbalance, &f->whatif, world);
    free(errors);
    free(found);
    return err;
}

/* POP: useful time is time outside communication (Wagner et al., POP D2.1). */
static void make_efficiency(struct pw_findings *f, const struct pw_matrix *m)
{
    double sum = 0, most = 0, elapsed = 0;
    size_t ranks = 0;
    for (size_t r = 0; r < m->nranks; r++) {
        double useful = 0, total = 0;
        for (size_t s = 0; s < m->nsteps; s++)
            if (m->total_ns[s * m->nranks + r] >= 0) {
                useful += (double)m->useful_ns[s * m->nranks + r];
                total += (double)m->total_ns[s * m->nranks + r];
            }
        if (total <= 0)
            continue;
        ranks++;
        sum += useful;
        most = useful > most ? useful : most;
        elapsed = total > elapsed ? total : elapsed;
    }
    if (!ranks || most <= 0 || elapsed <= 0)
        return;
    f->efficiency.load_balance = sum / (double)ranks / most;
    f->efficiency.communication_efficiency = most / elapsed;
    f->efficiency.parallel_efficiency =
        f->efficiency.load_balance * f->efficiency.communication_efficiency;
    const struct pw_whatif *w = &f->whatif;
    f->efficiency.elapsed_ns = w->elapsed_ns;
    f->efficiency.ideal_network_ns = w->ideal_network_ns;
    if (w->elapsed_ns > 0 && w->ideal_network_ns > 0) {
        f->efficiency.serialisation_efficiency =
            (double)w->most_work_ns / (double)w->ideal_network_ns;
        f->efficiency.transfer_efficiency = (double)w->ideal_network_ns / (double)w->elapsed_ns;
    }
    f->nefficiency = 1;
}

/* A replay of ranks whose communication was not recorded is one without any. Stragglers keep their
 * gains: their steps are longer, whatever ties them. */
static void forget_replay(struct pw_whatif *w)
{
    w->nrows = w->npath = 0;
}

static int allocate_measured(struct pw_matrix *measured, size_t cells)
{
    measured->own_ns = malloc(sizeof(int64_t) * cells);
    measured->total_ns = malloc(sizeof(int64_t) * cells);
    measured->useful_ns = malloc(sizeof(int64_t) * cells);
    measured->phase_ns = malloc(sizeof(int64_t) * cells * PW_PHASES);
    return measured->own_ns && measured->total_ns && measured->useful_ns && measured->phase_ns
               ? 0
               : -ENOMEM;
}

static int has_unmeasured(const struct pw_findings *f)
{
    for (size_t s = 0; s < f->nsteps; s++)
        if (f->steps[s].recorded != PW_RECORDED_ACTIVE)
            return 1;
    return 0;
}

static int analyse_measured(struct pw_findings *f, const struct pw_findings_input *in)
{
    const struct pw_matrix *m = in->matrix;
    struct pw_matrix copy = {.nranks = m->nranks};
    size_t *rows = malloc(sizeof(*rows) * (m->nsteps + 1));
    struct pw_measured measured = {in->world, m, rows}; /* all steps, when all are measured */
    int err = rows ? 0 : -ENOMEM;
    for (size_t s = 0; s < m->nsteps && rows; s++)
        rows[s] = s;
    if (!err && has_unmeasured(f)) {
        err = allocate_measured(&copy, m->nsteps * m->nranks + 1);
        copy.nsteps = err ? 0 : select_measured(f, m, &copy, rows);
        measured.matrix = &copy;
    }
    if (!err) {
        err = find_stragglers(f, in, &measured);
        err = err ? err : pw_trends_find(&f->trends, &measured, m, f->steps);
        if (in->world->is_silent)
            forget_replay(&f->whatif);
        else
            make_efficiency(f, measured.matrix);
    }
    pw_matrix_fini(&copy);
    free(rows);
    return err;
}

int pw_findings_make(struct pw_findings *f, const struct pw_findings_input *in)
{
    *f = (struct pw_findings){.efficiency = {-1, -1, -1, -1, -1, -1, -1}};
    int err = make_steps(f, in->world, in->share, in->matrix);
    err = err ? err : analyse_measured(f, in);
    return err ? err : pw_collectivestats_make(in->world, in->instances, &f->stats, &f->nstats);
}

void pw_findings_fini(struct pw_findings *f)
{
    free(f->steps);
    free(f->stragglers);
    free(f->inside);
    free(f->stats);
    pw_whatif_fini(&f->whatif);
    pw_imbalance_fini(&f->imbalance);
    pw_operators_fini(&f->operators);
    pw_kernels_fini(&f->kernels);
    pw_pairs_fini(&f->pairs);
    pw_samples_fini(&f->samples);
}

/* Gives pw_lossperiod_find() the excess of each straggler in its steps. */

/* Limits: stragglers that are examined, worst first, and steps of each: a period needs few; and own
 * works that are read for all of them. */
enum { MOST_EXAMINED = 32, MOST_STEPS = 1 << 14, MOST_READ = 1 << 28 };

/* The steps that were lost are those of the period within this share of their number. */
#define PERIOD_MISSES 0.25

struct excess {
    int64_t *of_step; /* [MOST_STEPS] */
    int64_t *others;  /* [nranks] */
    size_t n;
};

/* The own work of the rank in a step above the median of the other ranks; 0: not known. */
static int64_t excess_in(const struct pw_matrix *m, size_t step, size_t rank, int64_t *others)
{
    const int64_t *own = m->own_ns + step * m->nranks;
    size_t n = 0;
    for (size_t r = 0; r < m->nranks; r++)
        if (r != rank && own[r] >= 0)
            others[n++] = own[r];
    return n && own[rank] >= 0 ? own[rank] - pw_median_i64(others, n) : 0;
}

size_t pw_findings_lost_steps(const struct pw_findings *f, const struct pw_matrix *m,
                              const struct pw_row_c_straggler *row, int64_t *numbers, size_t most)
{
    int64_t *others = malloc(sizeof(*others) * (m->nranks + 1));
    size_t n = 0;
    for (size_t s = 0; others && s < f->nsteps && s < m->nsteps && n <= most; s++) {
        const int64_t number = f->steps[s].step;
        if (number < row->first_step || number > row->last_step ||
            2 * excess_in(m, s, (size_t)row->rank, others) < row->excess_ns)
            continue;
        if (n < most)
            numbers[n] = number;
        n++;
    }
    free(others);
    return n <= most ? n : 0;
}

/* The steps from first_step to last_step. Returns 0 when their numbers do not follow each other. */
static int read_steps(const struct pw_findings *f, const struct pw_matrix *m,
                      const struct pw_row_c_straggler *row, struct excess *excess)
{
    excess->n = 0;
    for (size_t s = 0; s < f->nsteps && s < m->nsteps && excess->n < MOST_STEPS; s++) {
        const int64_t number = f->steps[s].step;
        if (number < row->first_step || number > row->last_step)
            continue;
        if (excess->n && number != f->steps[s - 1].step + 1)
            return 0;
        excess->of_step[excess->n++] = excess_in(m, s, (size_t)row->rank, excess->others);
    }
    return 1;
}

/* The period, if as many steps were lost as it has. */
static int64_t period_of(const struct pw_row_c_straggler *row, const struct excess *excess)
{
    const int64_t period = pw_lossperiod_find(excess->of_step, excess->n);
    const double steps = period ? (double)excess->n / (double)period : 0;
    return fabs((double)row->steps_hit - steps) <= PERIOD_MISSES * steps ? period : 0;
}

int pw_periods_find(struct pw_findings *f, const struct pw_matrix *m)
{
    struct excess excess = {.of_step = malloc(sizeof(int64_t) * MOST_STEPS),
                            .others = malloc(sizeof(int64_t) * (m->nranks + 1))};
    const int err = excess.of_step && excess.others ? 0 : -ENOMEM;
    size_t left = MOST_READ;
    for (size_t i = 0; !err && i < f->nstragglers && i < MOST_EXAMINED; i++) {
        struct pw_row_c_straggler *row = &f->stragglers[i];
        if (row->part != PW_PART_ANY || row->first_step < 0 || left < m->nranks * MOST_STEPS ||
            !read_steps(f, m, row, &excess))
            continue;
        row->period = period_of(row, &excess);
        left -= excess.n * m->nranks;
    }
    free(excess.of_step);
    free(excess.others);
    return err;
}
