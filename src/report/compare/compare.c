/* Decides whether two runs can be compared, which differences are sure, and which rank causes them;
 * see compare.h. */
#include "report/compare/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "analysis/statistics.h"
#include "core/text.h"
#include "report/compare/compare_rows.h"
#include "report/writing/words.h"

/* ---- which differences are sure ---- */

/* Limits of p: for a test with steps as samples, and for a time that occurs once in a run
 * (docs/method.md). */
#define SURE_OF_STEPS 0.001
#define SURE_OF_ONE 0.01
#define LEAST_CHANGE 0.25 /* least difference of such times, as a share of the smaller one */
#define RELEVANT 0.01     /* share of the run */
#define TOO_MUCH 0.05     /* with a larger share of the run unexplained, there is no verdict */

static double at_most(double a, double b)
{
    return a < b ? a : b;
}

static void add(struct pw_comparison *c, enum pw_compare_place place, double ns, double p,
                int is_sure)
{
    c->differences[c->ndifferences++] = (struct pw_compare_difference){place, ns, p, is_sure};
}

/* Adds a difference of a time that occurs once in a run, when both times are known. */
static void add_once(struct pw_comparison *c, enum pw_compare_place place, double a, double b)
{
    if (a < 0 || b < 0 || a == b)
        return;
    const double p = pw_steppair_chance(fabs(b - a), c->steps.noise_ns);
    add(c, place, b - a, p, p < SURE_OF_ONE && fabs(b - a) >= LEAST_CHANGE * at_most(a, b));
}

static void add_all(struct pw_comparison *c, double times)
{
    const struct pw_steps_summary *x = &c->steps.runs[0], *y = &c->steps.runs[1];
    const struct pw_runparts *a = &c->parts[0], *b = &c->parts[1];
    const int is_sure = c->steps.p_mean < SURE_OF_STEPS;
    add(c, PW_COMPARE_IN_STEPS, (y->rest - x->rest) * (double)y->n, c->steps.p_mean, is_sure);
    c->steps_share = is_sure && x->rest > 0 ? y->rest / x->rest - 1 : 0;
    if (x->few || y->few)
        add(c, PW_COMPARE_IN_FEW_STEPS, y->few_ns - x->few_ns, c->steps.p_few, 1);
    if (!is_sure && c->steps.p_tail < SURE_OF_STEPS)
        add(c, PW_COMPARE_IN_SLOW_STEPS, c->steps.tail_ns, c->steps.p_tail, 1);
    const int is_cut = c->ended[0][0] || c->ended[1][0];
    add_once(c, PW_COMPARE_BETWEEN, a->between * times, b->between);
    if (a->before >= 0 && b->before >= 0) {
        add_once(c, PW_COMPARE_BEFORE, a->before, b->before);
        if (!is_cut)
            add_once(c, PW_COMPARE_AFTER, a->after, b->after);
    } else if (!is_cut) {
        add_once(c, PW_COMPARE_OUTSIDE, a->outside, b->outside);
    }
}

static int sure_and_largest_first(const void *x, const void *y)
{
    const struct pw_compare_difference *a = x, *b = y;
    if (a->is_sure != b->is_sure)
        return a->is_sure ? -1 : 1;
    return (fabs(a->ns) < fabs(b->ns)) - (fabs(a->ns) > fabs(b->ns));
}

/* The wall time of the first run if it had as many steps as the second: shares are relative to it.
 */
static double expected_run(const struct pw_comparison *c, double times)
{
    const struct pw_runparts *a = &c->parts[0];
    const double steps = (a->measured + a->between) * times;
    return a->outside >= 0 ? steps + a->unmeasured + a->outside : steps;
}

static void count_ranks(struct pw_comparison *c)
{
    const struct pw_compare_row *first = NULL;
    for (size_t i = 0; i < c->nrows; i++) {
        if (c->rows[i].group != PW_COMPARE_RANK)
            continue;
        first = first ? first : &c->rows[i];
        const double change = c->rows[i].b - c->rows[i].a, most = first->b - first->a;
        c->ranks_known++;
        c->ranks_alike += most > 0 ? change >= most / 2 : change <= most / 2;
    }
}

/* Sums the sure differences that are large enough to matter; the others become unsure. *unsure:
 * their sum. */
static void sum_sure(struct pw_comparison *c, double expected, double *unsure)
{
    const double least = at_most(RELEVANT, c->threshold) * expected;
    *unsure = 0;
    for (size_t i = 0; i < c->ndifferences; i++) {
        struct pw_compare_difference *d = &c->differences[i];
        d->is_sure = d->is_sure && fabs(d->ns) >= least && d->ns != 0;
        c->ns += d->is_sure ? d->ns : 0;
        *unsure += d->is_sure || d->place == PW_COMPARE_IN_SLOW_STEPS ? 0 : d->ns;
    }
    qsort(c->differences, c->ndifferences, sizeof(*c->differences), sure_and_largest_first);
    c->share = expected > 0 ? c->ns / expected : 0;
}

/* Fills `kind` and the members after it, from the rows, the parts and the steps. `unable` says why
 * the runs cannot be compared; "" when they can. */
static void judge(struct pw_comparison *c, const char *unable)
{
    struct pw_sentence why = pw_sentence_on(c->why, sizeof(c->why));
    c->kind = PW_COMPARE_UNKNOWN;
    c->why[0] = '\0';
    if (!c->has_steps) {
        pw_sentence_add(&why, "%s", unable);
        return;
    }
    const double times = (double)c->parts[1].nsteps / (double)c->parts[0].nsteps;
    const double expected = expected_run(c, times);
    double unsure;
    add_all(c, times);
    sum_sure(c, expected, &unsure);
    count_ranks(c);
    const double most = c->threshold > TOO_MUCH ? c->threshold : TOO_MUCH;
    if (c->ns > 0 || c->ns < 0)
        c->kind = c->ns > 0 ? PW_COMPARE_SLOWER : PW_COMPARE_FASTER;
    else if (fabs(unsure) > most * expected)
        pw_sentence_add(&why, "what differs may be noise");
    else
        c->kind = PW_COMPARE_SAME;
}

int pw_compare_is_slower(const struct pw_comparison *c)
{
    return c->kind == PW_COMPARE_SLOWER &&
           (c->share > c->threshold || c->steps_share > c->threshold);
}

/* ---- the ranks whose time outside steps changed ---- */

#define EXPLAINS 0.5 /* a rank causes a wall-time difference: least share it explains */

static int is_in(enum pw_part part, enum pw_compare_place place)
{
    switch (place) {
    case PW_COMPARE_BEFORE:
        return part < PW_PART_STEPS;
    case PW_COMPARE_AFTER:
        return part > PW_PART_STEPS;
    default:
        return place == PW_COMPARE_OUTSIDE;
    }
}

const struct pw_compare_outside *pw_compare_outside_of(const struct pw_comparison *c,
                                                       const struct pw_compare_difference *d)
{
    const struct pw_compare_outside *most = NULL;
    for (size_t i = 0; i < c->noutside; i++) {
        const struct pw_compare_outside *out = &c->outside[i];
        const double change = out->b - out->a;
        if (is_in(out->part, d->place) && (change > 0) == (d->ns > 0) &&
            fabs(change) >= EXPLAINS * fabs(d->ns) &&
            (!most || fabs(change) > fabs(most->b - most->a)))
            most = out;
    }
    return most;
}

/* A smaller p is significant. The limit is low because a comparison has some dozen rows. */
#define SIGNIFICANT 0.001

static void say_unrecorded(const struct pw_cluster *c, const char *which, struct pw_sentence *said)
{
    struct pw_unrecorded_sum sum;
    pw_unrecorded_sum(c, &sum);
    if (sum.ranks)
        pw_sentence_add(said, "MPI calls of %" PRId64 " rank%s of the %s run were not recorded; ",
                        sum.ranks, sum.ranks == 1 ? "" : "s", which);
    else if (sum.is_silent)
        pw_sentence_add(said, "no communication of the %s run was recorded; ", which);
    else if (sum.silent_ranks)
        pw_sentence_add(said,
                        "communication of %" PRId64 " rank%s of the %s run was not recorded; ",
                        sum.silent_ranks, sum.silent_ranks == 1 ? "" : "s", which);
}

static int64_t missing_ranks(const struct pw_cluster *c)
{
    int64_t present = 0;
    for (size_t r = 0; r < c->nrank_rows; r++)
        present += c->ranks[r].present != 0;
    return c->nranks > present ? c->nranks - present : 0;
}

static void say_missing(const struct pw_cluster *c, const char *which, struct pw_sentence *said)
{
    if (missing_ranks(c))
        pw_sentence_add(said,
                        "%" PRId64 " of %" PRId64 " ranks of the %s run left no usable file; ",
                        missing_ranks(c), c->nranks, which);
}

static void say_unlike(const struct pw_cluster *a, const struct pw_cluster *b, char *out,
                       size_t size)
{
    struct pw_sentence said = {out, size, 0};
    out[0] = '\0';
    if (a->nranks != b->nranks)
        pw_sentence_add(&said, "%" PRId64 " rank%s, then %" PRId64 "; ", a->nranks,
                        a->nranks == 1 ? "" : "s", b->nranks);
    if (a->nhosts != b->nhosts)
        pw_sentence_add(&said, "%" PRId64 " host%s, then %" PRId64 "; ", a->nhosts,
                        a->nhosts == 1 ? "" : "s", b->nhosts);
    if (strcmp(a->command, b->command) != 0)
        pw_sentence_add(&said, "'%.150s', then '%.150s'; ", a->command, b->command);
    if (a->nsteps != b->nsteps)
        pw_sentence_add(&said, "%" PRId64 " steps, then %" PRId64 "; ", a->nsteps, b->nsteps);
    say_missing(a, "first", &said);
    say_missing(b, "second", &said);
    say_unrecorded(a, "first", &said);
    say_unrecorded(b, "second", &said);
    if (said.used >= 2)
        out[said.used - 2] = '\0';
}

static void say_how(const struct pw_row_c_ending *row, struct pw_sentence *said)
{
    switch (row->how) {
    case PW_HOW_EXIT:
        pw_sentence_add(said, "with status %" PRId32, row->exit_code);
        break;
    case PW_HOW_SIGNAL:
        pw_sentence_add(said, "by signal %" PRId32, row->exit_signal);
        break;
    case PW_HOW_MEMORY:
        pw_sentence_add(said, "for lack of memory");
        break;
    case PW_HOW_ABORT:
        pw_sentence_add(said, "by MPI_Abort");
        break;
    case PW_HOW_EXCEPTION:
        pw_sentence_add(said, "by an exception");
        break;
    case PW_HOW_MPI_ERROR:
        pw_sentence_add(said, "by the MPI error %s", pw_enum_name(PW_F_MPI_ERROR, row->mpi_error));
        break;
    default:
        pw_sentence_add(said, "and it is not known how");
        break;
    }
}

/* "The second run did not end well: rank 1 ended first, by an exception."; "" when it did. */
static void say_ended(const struct pw_cluster *c, const char *which, char *out, size_t size)
{
    struct pw_sentence said = pw_sentence_on(out, size);
    const struct pw_row_c_ending *first = NULL;
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < c->nendings && c->snapshot <= 0; i++) {
        if (c->endings[i].ended != PW_ENDED_FIRST)
            continue;
        first = first ? first : &c->endings[i];
        n++;
    }
    if (!first)
        return;
    pw_sentence_add(&said, "The %s run did not end well: ", which);
    if (n == 1)
        pw_sentence_add(&said, "rank %" PRId32 " ended first, ", first->rank);
    else
        pw_sentence_add(&said, "%zu of its ranks ended first, rank %" PRId32 " ", n, first->rank);
    say_how(first, &said);
    pw_sentence_add(&said, ".");
}

static int is_partial(const struct pw_cluster *c)
{
    return 2 * missing_ranks(c) > c->nranks || c->snapshot > 0;
}

/* Writes why the run cannot be compared with another. Returns 1 when it wrote something. */
static int say_one(const struct pw_cluster *c, size_t nsteps, const char *which,
                   struct pw_sentence *said)
{
    const int64_t missing = missing_ranks(c);
    if (2 * missing > c->nranks)
        pw_sentence_add(said, "%" PRId64 " of %" PRId64 " ranks of the %s run left no usable file",
                        missing, c->nranks, which);
    else if (c->snapshot > 0)
        pw_sentence_add(said, "the %s run was still running", which);
    else if (!nsteps)
        pw_sentence_add(said, "the %s run has no measured steps", which);
    else if (c->steps_inferred > 1)
        pw_sentence_add(
            said, "the %s run has no steps, only slices, whose length depends on the run", which);
    else if (nsteps < PW_PERMUTATION_LEAST)
        pw_sentence_add(said, "the %s run has only %zu measured step%s", which, nsteps,
                        nsteps == 1 ? "" : "s");
    return said->used > 0;
}

/* 1 when the numbers of steps are about equal. Otherwise, the steps inferred in the two runs are
 * not the same iterations. */
static int is_like(size_t a, size_t b)
{
    return a > b ? 10 * b >= 9 * a : 10 * a >= 9 * b;
}

/* Writes why the runs cannot be compared; "" when they can. */
static void say_unable(const struct pw_compare_building *b, char *out, size_t size)
{
    static const char *const names[] = {"first", "second"};
    struct pw_sentence said = pw_sentence_on(out, size);
    const struct pw_runparts *parts = b->out->parts;
    out[0] = '\0';
    for (int i = 0; i < 2; i++)
        if (say_one(b->runs[i], parts[i].nsteps, names[i], &said))
            return;
    if (b->runs[0]->steps_inferred != b->runs[1]->steps_inferred)
        pw_sentence_add(&said,
                        "the steps of one run are marked, those of the other inferred from calls");
    else if (b->runs[0]->steps_inferred > 0 && !is_like(parts[0].nsteps, parts[1].nsteps))
        pw_sentence_add(&said, "different steps were inferred from the calls: %zu, then %zu",
                        parts[0].nsteps, parts[1].nsteps);
}

/* The rank with most own work in a step, if it has at least `more_ns` more than the mean of the
 * others; else -1. */
static int32_t whose_work(const struct pw_cluster *run, size_t step, double more_ns)
{
    double most = -1, sum = 0;
    size_t row = 0, known = 0;
    for (size_t r = 0; pw_cells_is_known(&run->step_trace) && r < run->nrank_rows; r++) {
        const double own = (double)pw_cells_value(
            &run->step_trace, offsetof(struct pw_row_c_step_trace, own_ns), step, r);
        if (own < 0)
            continue;
        known++;
        sum += own;
        row = own > most ? r : row;
        most = own > most ? own : most;
    }
    return known > 1 && most - (sum - most) / (double)(known - 1) >= more_ns ? run->ranks[row].rank
                                                                             : -1;
}

/* Finds the slowest of the few extreme steps, and the rank whose work explains half of its
 * excess. */
static void find_few(const struct pw_compare_building *b)
{
    struct pw_comparison *c = b->out;
    const int i = c->steps.runs[1].few > 0;
    size_t slowest = 0;
    for (size_t k = 1; k < c->parts[i].nsteps; k++)
        if (b->walls[i][k] > b->walls[i][slowest])
            slowest = k;
    const size_t row = b->rows[i][slowest];
    c->few_step = b->runs[i]->steps[row].step;
    c->few_rank = whose_work(b->runs[i], row, (b->walls[i][slowest] - c->steps.runs[i].median) / 2);
}

static int allocate(struct pw_compare_building *b, double **scratch)
{
    const size_t na = b->runs[0]->nstep_rows, nb = b->runs[1]->nstep_rows;
    for (int i = 0; i < 2; i++) {
        const size_t n = b->runs[i]->nstep_rows + 1;
        b->walls[i] = calloc(n, sizeof(double));
        b->values[i] = calloc(n, sizeof(double));
        b->rows[i] = calloc(n, sizeof(size_t));
        if (!b->walls[i] || !b->values[i] || !b->rows[i])
            return -ENOMEM;
    }
    *scratch = calloc(pw_steppair_scratch(na, nb) + 1, sizeof(double));
    return *scratch ? 0 : -ENOMEM;
}

/* Finds the parts that are known in both runs. Returns 1 when there are any. */
static int find_parts_known(struct pw_compare_building *b)
{
    struct pw_parts_known known[2];
    for (int i = 0; i < 2; i++)
        known[i] = pw_parts_known(b->runs[i]->part_trace, b->runs[i]->nrank_rows);
    b->out->parts_known = pw_parts_known_of_both(known[0], known[1]);
    return b->out->parts_known.nranks > 0;
}

static int build(struct pw_compare_building *b)
{
    struct pw_comparison *c = b->out;
    char unable[sizeof(c->why)];
    double *scratch = NULL;
    int err = allocate(b, &scratch);
    if (!err) {
        const int with_parts = find_parts_known(b);
        for (int i = 0; i < 2; i++)
            pw_runparts_find(b->runs[i], with_parts, b->walls[i], b->rows[i], &c->parts[i]);
        say_unable(b, unable, sizeof(unable));
        c->has_steps = !unable[0];
        if (c->has_steps) {
            const struct pw_run_steps runs[2] = {{b->walls[0], c->parts[0].nsteps},
                                                 {b->walls[1], c->parts[1].nsteps}};
            pw_steppair(runs, scratch, &c->steps);
            find_few(b);
        }
        err = pw_compare_rows(b);
    }
    if (!err)
        judge(c, unable);
    free(scratch);
    for (int i = 0; i < 2; i++) {
        free(b->walls[i]);
        free(b->values[i]);
        free(b->rows[i]);
    }
    return err;
}

int pw_compare(const struct pw_cluster *a, const struct pw_cluster *b, double threshold,
               struct pw_comparison **out)
{
    struct pw_comparison *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->threshold = threshold;
    say_ended(a, "first", made->ended[0], sizeof(made->ended[0]));
    say_ended(b, "second", made->ended[1], sizeof(made->ended[1]));
    struct pw_compare_building building = {.runs = {a, b}, .out = made};
    int err = build(&building);
    if (err) {
        pw_comparison_destroy(made);
        return err;
    }
    made->is_partial = is_partial(a) || is_partial(b);
    say_unlike(a, b, made->unlike, sizeof(made->unlike));
    *out = made;
    return 0;
}

void pw_comparison_destroy(struct pw_comparison *comparison)
{
    if (comparison)
        free(comparison->rows);
    free(comparison);
}

double pw_compare_change(const struct pw_compare_row *row)
{
    return row->a > 0 && row->b >= 0 ? row->b / row->a - 1 : NAN;
}

int pw_compare_is_significant(const struct pw_compare_row *row)
{
    return row->p >= 0 && row->p < SIGNIFICANT;
}
