/* Sets the few extreme steps apart, then tests means, medians and tails; see steptimes.h. */
#include "analysis/steptimes.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "core/sort.h"

static int by_end(const void *a, const void *b)
{
    const struct pw_stepwall *x = *(struct pw_stepwall *const *)a;
    const struct pw_stepwall *y = *(struct pw_stepwall *const *)b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x > y) - (x < y);
}

void pw_stepwall_find(struct pw_stepwall *steps, size_t n, struct pw_stepwall **order)
{
    size_t known = 0;
    for (size_t s = 0; s < n; s++) {
        steps[s].wall = -1;
        if (steps[s].longest >= 0 && steps[s].start <= steps[s].end)
            order[known++] = &steps[s];
    }
    pw_sort(order, known, sizeof(*order), by_end);
    for (size_t i = 0; i < known; i++) {
        const int64_t before = i ? order[i - 1]->end : order[i]->start;
        const int64_t from = before > order[i]->start ? before : order[i]->start;
        const int64_t wall = order[i]->end - from;
        order[i]->wall = wall < order[i]->longest ? wall : order[i]->longest;
    }
}

enum { ABOVE = 2, MOST_FEW = 20, LEAST_KNOWN = 20 };

#define LEAST_NOISE 0.001 /* of the median */
#define FAR 5             /* robust standard deviations */
#define LEAST_LENGTH 1.5  /* 100 independent steps have smaller lengths by chance */

/* The steps of a run, and scratch of the same length. */
struct steps {
    const double *values;
    double *sorted, *rest; /* `rest`: in time order, with the few extreme steps set to the median */
    size_t n;
};

double pw_steppair_chance(double excess_ns, double noise_ns)
{
    double p = excess_ns > 0 ? 3 * (noise_ns / excess_ns) * (noise_ns / excess_ns) : 1;
    return p < 1 ? p : 1;
}

size_t pw_steppair_scratch(size_t na, size_t nb)
{
    return 3 * (na + nb);
}

static double mean_of(const double *values, size_t n)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += (values[i] - mean) / (double)(i + 1);
    return mean;
}

static void summarise(struct steps *s, struct pw_steps_summary *out)
{
    memcpy(s->sorted, s->values, s->n * sizeof(double));
    memcpy(s->rest, s->values, s->n * sizeof(double));
    pw_sort_f64(s->sorted, s->n);
    *out = (struct pw_steps_summary){
        .n = s->n,
        .mean = mean_of(s->values, s->n),
        .median = (s->sorted[(s->n - 1) / 2] + s->sorted[s->n / 2]) / 2,
        .p90 = pw_quantile_f64(s->sorted, s->n, 0.9),
        .p99 = pw_quantile_f64(s->sorted, s->n, 0.99),
        .slowest = s->sorted[s->n - 1],
    };
}

/* The excess of the (skip + 1)-th longest step above the median, at least 0; 0 when there is no
 * such step. */
static double excess_but(const struct steps *s, const struct pw_steps_summary *sum, size_t skip)
{
    double excess = skip < s->n ? s->sorted[s->n - 1 - skip] - sum->median : 0;
    return excess > 0 ? excess : 0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Finds the few extreme steps of `s` and sets them to the median in `rest`. Returns their chance;
 * 1: there are none. */
static double find_few(struct steps *s, struct pw_steps_summary *sum, double others_largest)
{
    const size_t most = s->n / MOST_FEW > 2 ? s->n / MOST_FEW : 2;
    const double floor = larger(others_largest, LEAST_NOISE * sum->median);
    double p = 1;
    for (size_t k = 1; k <= most && k + ABOVE < s->n; k++) {
        const double noise = larger(floor, excess_but(s, sum, k + ABOVE));
        const double least = excess_but(s, sum, k - 1);
        if (least < PW_STEPPAIR_TIMES * noise)
            continue;
        sum->few = k;
        sum->few_from = s->sorted[s->n - k];
        p = pw_steppair_chance(least, noise);
    }
    for (size_t i = 0; i < s->n && sum->few; i++)
        if (s->rest[i] >= sum->few_from) {
            sum->few_ns += s->rest[i] - sum->median;
            s->rest[i] = sum->median;
        }
    return p;
}

static size_t count_above(const struct steps *s, const struct pw_steps_summary *sum, double limit)
{
    size_t n = 0;
    for (size_t i = s->n - sum->few; i-- > 0 && s->sorted[i] > limit;)
        n++;
    return n;
}

/* Where the slowest tenth of both runs begins: at most a tenth of all steps, without the few
 * extreme ones, is above this value. */
static double slowest_tenth(const struct steps *s, const struct pw_steppair *p)
{
    size_t n[2] = {s[0].n - p->runs[0].few, s[1].n - p->runs[1].few};
    size_t above = (n[0] + n[1]) / 10;
    while (above-- > 0 && n[0] + n[1] > 1)
        n[!n[0] || (n[1] && s[1].sorted[n[1] - 1] > s[0].sorted[n[0] - 1])]--;
    if (!n[0] || !n[1])
        return n[0] ? s[0].sorted[n[0] - 1] : s[1].sorted[n[1] - 1];
    return larger(s[0].sorted[n[0] - 1], s[1].sorted[n[1] - 1]);
}

/* Returns the sum of the time above `limit`. Sets `rest` to 1 for steps above it, else to 0. */
static double sum_above(struct steps *s, double limit)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        sum += s->rest[i] > limit ? s->rest[i] - limit : 0;
        s->rest[i] = s->rest[i] > limit;
    }
    return sum;
}

/* The correlation length of the steps, without those far from the median. `room` is for n
 * values. */
static double correlation_length(const struct steps *s, double median, double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        room[i] = fabs(s->rest[i] - median);
    pw_sort_f64(room, s->n);
    const double far = FAR * 1.4826 * room[s->n / 2];
    for (size_t i = 0; i < s->n; i++)
        if (fabs(s->rest[i] - median) <= far)
            room[n++] = s->rest[i];
    return pw_correlation_length(room, n);
}

/* Tests with blocks of twice the correlation length, which contain most of the correlation of
 * successive steps. */
static void test(struct steps *s, double *room, struct pw_steppair *out)
{
    const double in_a = correlation_length(&s[0], out->runs[0].median, room);
    const double in_b = correlation_length(&s[1], out->runs[1].median, room);
    const double length = in_a < in_b ? in_a : in_b;
    out->block = length < LEAST_LENGTH ? 1 : (size_t)ceil(2 * length);
    out->p_mean = pw_permutation_test(s[0].rest, s[0].n, s[1].rest, s[1].n, out->block);
    out->p_median =
        pw_mann_whitney(s[0].sorted, s[0].n, s[1].sorted, s[1].n, (length - 1) / (length + 1));
    const double limit = slowest_tenth(s, out);
    const double above_a = sum_above(&s[0], limit), above_b = sum_above(&s[1], limit);
    out->tail_ns = above_b - above_a * (double)s[1].n / (double)s[0].n;
    out->p_tail = pw_permutation_test(s[0].rest, s[0].n, s[1].rest, s[1].n, out->block);
}

void pw_steppair(const struct pw_run_steps runs[2], double *scratch, struct pw_steppair *out)
{
    const size_t na = runs[0].n, nb = runs[1].n;
    struct steps s[2] = {{runs[0].ns, scratch, scratch + na + nb, na},
                         {runs[1].ns, scratch + na, scratch + 2 * na + nb, nb}};
    *out = (struct pw_steppair){.p_few = 1};
    for (int i = 0; i < 2; i++)
        summarise(&s[i], &out->runs[i]);
    const double largest[2] = {excess_but(&s[0], &out->runs[0], 0),
                               excess_but(&s[1], &out->runs[1], 0)};
    for (int i = 0; i < 2 && na + nb >= LEAST_KNOWN; i++) {
        const double p = find_few(&s[i], &out->runs[i], largest[!i]);
        out->p_few = p < out->p_few ? p : out->p_few;
    }
    for (int i = 0; i < 2; i++) {
        struct pw_steps_summary *sum = &out->runs[i], *other = &out->runs[!i];
        sum->rest = mean_of(s[i].rest, s[i].n);
        sum->beyond = count_above(&s[i], sum, s[!i].sorted[s[!i].n - 1 - other->few]);
        out->noise_ns = larger(out->noise_ns, larger(excess_but(&s[i], sum, sum->few + ABOVE),
                                                     LEAST_NOISE * sum->median));
    }
    test(s, scratch + 2 * (na + nb), out);
}
