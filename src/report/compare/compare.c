/* A comparison: what can be compared, and what is found; see compare.h. */
#include "report/compare/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "analysis/significance.h"
#include "core/sentence.h"
#include "report/compare/compare_rows.h"

/* Such a p is called significant: one comparison has some dozen rows. */
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

/* Why one of the runs cannot be compared with another. */
static int say_one(const struct pw_cluster *c, size_t nsteps, const char *which,
                   struct pw_sentence *said)
{
    const int64_t missing = missing_ranks(c);
    if (2 * missing > c->nranks)
        pw_sentence_add(said, "%" PRId64 " of %" PRId64 " ranks of the %s run left no usable file",
                        missing, c->nranks, which);
    else if (c->snapshot > 0)
        pw_sentence_add(said, "the %s run was still going on", which);
    else if (!nsteps)
        pw_sentence_add(said, "the %s run has no measured steps", which);
    else if (c->steps_inferred > 1)
        pw_sentence_add(said,
                        "no steps were found in the %s run, only slices, which are as long as the "
                        "run makes them",
                        which);
    else if (nsteps < PW_PERMUTATION_LEAST)
        pw_sentence_add(said, "the %s run has only %zu measured step%s", which, nsteps,
                        nsteps == 1 ? "" : "s");
    return said->used > 0;
}

/* Steps that were found in calls are the same iterations only when there are about as many. */
static int is_like(size_t a, size_t b)
{
    return a > b ? 10 * b >= 9 * a : 10 * a >= 9 * b;
}

/* Why the runs cannot be compared; "" when they can. */
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
                        "the steps of one run are marked, those of the other found in calls");
    else if (b->runs[0]->steps_inferred > 0 && !is_like(parts[0].nsteps, parts[1].nsteps))
        pw_sentence_add(&said,
                        "the steps that were found in the calls are not the same: %zu, then %zu",
                        parts[0].nsteps, parts[1].nsteps);
}

/* The rank with most own work in a step, where it has that much more of it than the others have in
 * the mean; else -1: who has most is then one of many. */
static int32_t whose_work(const struct pw_cluster *run, size_t step, double more_ns)
{
    double most = -1, sum = 0;
    size_t row = 0, known = 0;
    for (size_t r = 0; run->step_trace && r < run->nrank_rows; r++) {
        const double own = (double)run->step_trace[step * run->nrank_rows + r].own_ns;
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

/* The slowest of the few steps, and whose work it was: half of what it is above the median. */
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

/* Whether the parts of the ranks' runs are known in both. */
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
            pw_steppair(b->walls[0], c->parts[0].nsteps, b->walls[1], c->parts[1].nsteps, scratch,
                        &c->steps);
            find_few(b);
        }
        err = pw_compare_rows(b);
    }
    if (!err)
        pw_compare_judge(c, unable);
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
    struct pw_compare_building building = {.runs = {a, b}, .out = made};
    int err = build(&building);
    if (err) {
        pw_comparison_destroy(made);
        return err;
    }
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
