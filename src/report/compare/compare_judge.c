/* What of a comparison is sure; see compare.h. */
#include <math.h>
#include <stdlib.h>

#include "core/sentence.h"
#include "report/compare/compare.h"

/* Of a test whose samples are the steps: as for a row. Of what a run has only once: see
 * docs/metrics.md. */
#define SURE_OF_STEPS 0.001
#define SURE_OF_ONE 0.01
#define LEAST_CHANGE 0.25 /* of the smaller of the two, of what a run has only once */
#define RELEVANT 0.01     /* share of the run */
#define TOO_MUCH 0.05     /* share of the run that, unexplained, makes a verdict impossible */

static double at_most(double a, double b)
{
    return a < b ? a : b;
}

static void add(struct pw_comparison *c, enum pw_compare_place place, double ns, double p,
                int is_sure)
{
    c->differences[c->ndifferences++] = (struct pw_compare_difference){place, ns, p, is_sure};
}

/* Of what each run has only once, where both are known. */
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
    add_once(c, PW_COMPARE_BETWEEN, a->between * times, b->between);
    if (a->before >= 0 && b->before >= 0) {
        add_once(c, PW_COMPARE_BEFORE, a->before, b->before);
        add_once(c, PW_COMPARE_AFTER, a->after, b->after);
    } else {
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

/* The first run's wall time had it had as many steps as the second: what shares are of. */
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

/* Those that are large enough to matter stay sure. */
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

void pw_compare_judge(struct pw_comparison *c, const char *unable)
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
