/* Collects the rows of each pair's comparison, and judges the differences over all pairs; see
 * compare_runs.h. */
#include "report/compare/compare_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define RELEVANT 0.01 /* smaller changes of the run and of its steps are no change */
#define TOO_MUCH 0.05 /* with a larger change that may be noise, there is no verdict */
#define LIKE 0.01     /* runs whose numbers of steps differ by more take different times */

/* A row of one pair's comparison. */
struct sample {
    struct pw_compare_row row;
    size_t pair, place; /* place among the pair's rows */
};

struct pw_runs {
    struct sample *samples;
    size_t nsamples, capacity, pairs;
    double threshold;
    int has_like_steps; /* in all pairs so far */
    char unlike[512], partial[320];
};

struct pw_runs *pw_runs_create(double threshold)
{
    struct pw_runs *runs = calloc(1, sizeof(*runs));
    if (runs)
        *runs = (struct pw_runs){.threshold = threshold, .has_like_steps = 1};
    return runs;
}

void pw_runs_destroy(struct pw_runs *runs)
{
    if (runs)
        free(runs->samples);
    free(runs);
}

static int grow(struct pw_runs *runs, size_t more)
{
    if (runs->nsamples + more <= runs->capacity)
        return 0;
    const size_t capacity = 2 * runs->capacity + more;
    struct sample *samples = realloc(runs->samples, capacity * sizeof(*samples));
    if (!samples)
        return -ENOMEM;
    runs->samples = samples;
    runs->capacity = capacity;
    return 0;
}

static int has_like_steps(const struct pw_comparison *c)
{
    const double a = (double)c->parts[0].nsteps, b = (double)c->parts[1].nsteps;
    return fabs(b - a) <= LIKE * (a > b ? a : b);
}

static void keep(struct pw_runs *runs, const struct pw_comparison *c)
{
    for (size_t i = 0; i < c->nrows; i++) {
        const struct pw_compare_row *row = &c->rows[i];
        if (row->group != PW_COMPARE_PART && row->a >= 0 && row->b >= 0)
            runs->samples[runs->nsamples++] = (struct sample){*row, runs->pairs, i};
    }
    runs->has_like_steps &= has_like_steps(c);
    if (!runs->unlike[0])
        memcpy(runs->unlike, c->unlike, sizeof(runs->unlike));
    if (!runs->partial[0] && c->is_partial)
        memcpy(runs->partial, c->why, sizeof(runs->partial));
    runs->pairs++;
}

int pw_runs_add(struct pw_runs *runs, const struct pw_cluster *a, const struct pw_cluster *b)
{
    struct pw_comparison *made;
    int err = pw_compare(a, b, runs->threshold, &made);
    if (err)
        return err;
    err = grow(runs, made->nrows);
    if (!err)
        keep(runs, made);
    pw_comparison_destroy(made);
    return err;
}

/* ---- the rows of all pairs ---- */

/* The name of a rank's row has its hosts, which may differ from pair to pair. */
static int by_subject(const struct pw_compare_row *a, const struct pw_compare_row *b)
{
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->group == PW_COMPARE_RANK)
        return (a->rank > b->rank) - (a->rank < b->rank);
    return strcmp(a->name, b->name);
}

static int by_subject_and_pair(const void *x, const void *y)
{
    const struct sample *a = x, *b = y;
    const int order = by_subject(&a->row, &b->row);
    if (order)
        return order;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static double median_of(double *values, size_t n)
{
    pw_sort_f64(values, n);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Makes the row of `n` samples of one subject. Where a pair has several, the first one counts.
 * `values` has room for the values of all pairs. */
static void make_row(const struct sample *samples, size_t n, double *const values[3],
                     struct pw_runs_row *out)
{
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && samples[i].pair == samples[i - 1].pair)
            continue;
        values[0][pairs] = samples[i].row.a;
        values[1][pairs] = samples[i].row.b;
        values[2][pairs++] = samples[i].row.b - samples[i].row.a;
    }
    *out = (struct pw_runs_row){
        .group = samples->row.group, .rank = samples->row.rank, .pairs = pairs};
    memcpy(out->name, samples->row.name, sizeof(out->name));
    out->a = median_of(values[0], pairs);
    out->b = median_of(values[1], pairs);
    pw_sort_f64(values[2], pairs);
    out->difference = pw_median_interval(values[2], pairs);
}

/* A row, and where it is in the first pair that has it. */
struct placed {
    struct pw_runs_row row;
    size_t place;
};

/* The parts of the run and the step times keep their order; of the others, the largest change is
 * first. */
static int in_report_order(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;
    const double change_a = fabs(a->row.difference.median),
                 change_b = fabs(b->row.difference.median);
    if (a->row.group != b->row.group)
        return a->row.group < b->row.group ? -1 : 1;
    if (a->row.group > PW_COMPARE_STEP && change_a != change_b)
        return change_a > change_b ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static size_t count_subjects(const struct pw_runs *runs)
{
    size_t n = 0;
    for (size_t i = 0; i < runs->nsamples; i++)
        n += !i || by_subject(&runs->samples[i - 1].row, &runs->samples[i].row) != 0;
    return n;
}

static int make_rows(struct pw_runs *runs, struct pw_runs_comparison *out)
{
    if (runs->nsamples)
        qsort(runs->samples, runs->nsamples, sizeof(*runs->samples), by_subject_and_pair);
    const size_t nrows = count_subjects(runs);
    struct placed *placed = calloc(nrows + 1, sizeof(*placed));
    double *values = calloc(3 * runs->pairs + 1, sizeof(*values));
    out->rows = calloc(nrows + 1, sizeof(*out->rows));
    const int err = placed && values && out->rows ? 0 : -ENOMEM;
    for (size_t from = 0, to; !err && from < runs->nsamples; from = to) {
        const struct sample *first = &runs->samples[from];
        for (to = from + 1; to < runs->nsamples; to++)
            if (by_subject(&first->row, &runs->samples[to].row) != 0)
                break;
        double *const columns[] = {values, values + runs->pairs, values + 2 * runs->pairs};
        make_row(first, to - from, columns, &placed[out->nrows].row);
        placed[out->nrows++].place = first->place;
    }
    if (!err && nrows)
        qsort(placed, nrows, sizeof(*placed), in_report_order);
    for (size_t i = 0; !err && i < nrows; i++)
        out->rows[i] = placed[i].row;
    free(placed);
    free(values);
    return err;
}

/* ---- the verdict ---- */

double pw_runs_change(const struct pw_runs_row *row)
{
    return row->a > 0 ? row->difference.median / row->a : NAN;
}

int pw_runs_sign(const struct pw_runs_row *row)
{
    if (row->pairs < PW_RUNS_LEAST)
        return 0;
    return (row->difference.low > 0) - (row->difference.high < 0);
}

static const struct pw_runs_row *find(const struct pw_runs_comparison *c,
                                      enum pw_compare_group group, const char *name)
{
    for (size_t i = 0; i < c->nrows; i++)
        if (c->rows[i].group == group && strcmp(c->rows[i].name, name) == 0)
            return c->rows[i].pairs >= PW_RUNS_LEAST ? &c->rows[i] : NULL;
    return NULL;
}

/* The sign of a change that matters; 0: there is none, or it may be noise. */
static int sign_of(const struct pw_runs_comparison *c, const struct pw_runs_row *row)
{
    const double least = c->threshold < RELEVANT ? c->threshold : RELEVANT;
    return row && fabs(pw_runs_change(row)) >= least ? pw_runs_sign(row) : 0;
}

static int is_slower(const struct pw_runs_comparison *c, const struct pw_runs_row *row)
{
    return sign_of(c, row) > 0 && pw_runs_change(row) > c->threshold;
}

/* Whether the change may be noise, but is too large to say that there is none. */
static int is_vague(const struct pw_runs_comparison *c, const struct pw_runs_row *row)
{
    const double most = c->threshold > TOO_MUCH ? c->threshold : TOO_MUCH;
    return row && !pw_runs_sign(row) && fabs(pw_runs_change(row)) > most;
}

static void judge(struct pw_runs_comparison *c, const struct pw_runs *runs)
{
    struct pw_sentence why = pw_sentence_on(c->why, sizeof(c->why));
    c->run = runs->has_like_steps ? find(c, PW_COMPARE_RUN, "the run") : NULL;
    c->steps = find(c, PW_COMPARE_STEP, "mean");
    c->kind = PW_COMPARE_UNKNOWN;
    if (runs->partial[0])
        pw_sentence_add(&why, "%s", runs->partial);
    else if (c->pairs < PW_RUNS_LEAST)
        pw_sentence_add(&why, "there are %zu pairs of runs, but an interval needs %d", c->pairs,
                        PW_RUNS_LEAST);
    else if (!c->run && !c->steps)
        pw_sentence_add(&why, "the numbers of steps differ, and the steps cannot be compared");
    if (c->why[0])
        return;
    const int of_run = sign_of(c, c->run), of_steps = sign_of(c, c->steps);
    c->is_slower = is_slower(c, c->run) || is_slower(c, c->steps);
    const int sign = c->is_slower ? 1 : of_run ? of_run : of_steps;
    if (sign)
        c->kind = sign > 0 ? PW_COMPARE_SLOWER : PW_COMPARE_FASTER;
    else if (is_vague(c, c->run) || is_vague(c, c->steps))
        pw_sentence_add(&why, "what differs may be noise, of which more runs would tell more");
    else
        c->kind = PW_COMPARE_SAME;
}

int pw_runs_compare(struct pw_runs *runs, struct pw_runs_comparison **out)
{
    struct pw_runs_comparison *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->threshold = runs->threshold;
    made->pairs = runs->pairs;
    memcpy(made->unlike, runs->unlike, sizeof(made->unlike));
    const int err = make_rows(runs, made);
    if (err) {
        pw_runs_comparison_destroy(made);
        return err;
    }
    judge(made, runs);
    *out = made;
    return 0;
}

int pw_runs_failed(double threshold, const char *why, struct pw_runs_comparison **out)
{
    struct pw_runs_comparison *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->threshold = threshold;
    made->has_failed = 1;
    struct pw_sentence reason = pw_sentence_on(made->why, sizeof(made->why));
    pw_sentence_add(&reason, "%s", why);
    *out = made;
    return 0;
}

void pw_runs_comparison_destroy(struct pw_runs_comparison *comparison)
{
    if (comparison)
        free(comparison->rows);
    free(comparison);
}
