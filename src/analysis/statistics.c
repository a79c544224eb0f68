/* Sorts by quicksort, and selects by quickselect: no recursion, no allocation. Parts whose pivots
 * are bad are sorted by heap sort, so that no order of values makes it slow. See statistics.h. */
#include "analysis/statistics.h"

#include <math.h>
#include <stdint.h>

#include "core/search.h"

#define HALF_PI 1.57079632679489661923

/* P(|T| < t) is a series in powers of cos^2(atan(t / sqrt(degrees))), with a term for every two
 * degrees of freedom. */
double pw_student_tail(double t, size_t degrees)
{
    const double angle = atan(t / sqrt((double)degrees)), square = cos(angle) * cos(angle);
    const int is_odd = degrees % 2 == 1;
    double term = is_odd ? cos(angle) : 1, sum = 0;
    for (size_t i = is_odd ? 3 : 2; i <= degrees; i += 2) {
        sum += term;
        term *= square * (double)(i - 1) / (double)i;
    }
    const double within = is_odd ? (angle + sin(angle) * sum) / HALF_PI : sin(angle) * sum;
    return within < 1 ? (1 - within) / 2 : 0;
}

double pw_normal_quantile(double q)
{
    const double off = q - 0.5;
    if (fabs(off) <= 0.425) {
        const double r = 0.180625 - off * off;
        return off * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
               (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1);
    }
    double r = sqrt(-log(off < 0 ? q : 1 - q)), value;
    if (r <= 5) {
        r -= 1.6;
        value = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
                ((0.12021132975 * r + 0.73700164250) * r + 1);
    } else {
        r -= 5;
        value = (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
                ((0.012258202635 * r + 0.24197894225) * r + 1);
    }
    return off < 0 ? -value : value;
}

double pw_outlier_chance(const int64_t *values, size_t n, size_t which)
{
    double mean = 0, squares = 0, others = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == which || values[i] < 0)
            continue;
        const double off = (double)values[i] - mean;
        mean += off / ++others;
        squares += off * ((double)values[i] - mean);
    }
    if (others < 2 || (double)values[which] <= mean)
        return 1;
    const double error = sqrt(squares / (others - 1) * (1 + 1 / others));
    const double t = error > 0 ? ((double)values[which] - mean) / error : INFINITY;
    const double chance = (others + 1) * pw_student_tail(t, (size_t)others - 1);
    return chance < 1 ? chance : 1;
}

/* The probability that the median is between the kth smallest and the kth largest value, k >= 1. */
static double confidence_of(size_t n, size_t k)
{
    return 1 - 2 * pw_binomial_tail((int64_t)n, (int64_t)(n - k + 1), 0.5);
}

struct pw_median_interval pw_median_interval(const double *sorted, size_t n)
{
    size_t k = 1;
    while (2 * (k + 1) <= n && confidence_of(n, k + 1) >= PW_MEDIAN_CONFIDENCE)
        k++;
    return (struct pw_median_interval){.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2,
                                       .low = sorted[k - 1],
                                       .high = sorted[n - k],
                                       .confidence = n > 1 ? confidence_of(n, k) : 0};
}

enum { FEW = 16, MOST_PARTS = 64 };

/* The heap sort of parts with bad pivots, and the insertion sort of small parts. */
#define DEFINE_SLOW_SORTS(name, type)                                        \
    static void name##_sift(type *v, size_t root, size_t n)                  \
    {                                                                        \
        for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) { \
            if (child + 1 < n && v[child] < v[child + 1])                    \
                child++;                                                     \
            if (!(v[root] < v[child]))                                       \
                return;                                                      \
            type held = v[root];                                             \
            v[root] = v[child];                                              \
            v[child] = held;                                                 \
            root = child;                                                    \
        }                                                                    \
    }                                                                        \
    static void name##_heap(type *v, size_t n)                               \
    {                                                                        \
        for (size_t i = n / 2; i-- > 0;)                                     \
            name##_sift(v, i, n);                                            \
        for (size_t end = n; end > 1; end--) {                               \
            type held = v[0];                                                \
            v[0] = v[end - 1];                                               \
            v[end - 1] = held;                                               \
            name##_sift(v, 0, end - 1);                                      \
        }                                                                    \
    }                                                                        \
    static void name##_insert(type *v, size_t n)                             \
    {                                                                        \
        for (size_t i = 1; i < n; i++) {                                     \
            const type value = v[i];                                         \
            size_t at = i;                                                   \
            for (; at > 0 && value < v[at - 1]; at--)                        \
                v[at] = v[at - 1];                                           \
            v[at] = value;                                                   \
        }                                                                    \
    }

DEFINE_SLOW_SORTS(sort_i64, int64_t)
DEFINE_SLOW_SORTS(sort_f64, double)

/* Moves the values that are smaller than the pivot (..._equal: not larger) to the front. Returns
 * how many there are. There is no branch that depends on a value: half of these would be
 * mispredicted, which would take most of the time. Other values stay where they are, so that an
 * order among them is not lost: it makes good pivots. */
#define DEFINE_SPLIT(name, type, is_front)                                               \
    static size_t name(type *v, size_t n, type pivot)                                    \
    {                                                                                    \
        size_t front = 0;                                                                \
        for (size_t i = 0; i < n; i++) {                                                 \
            const type value = v[i];                                                     \
            const size_t moves = (size_t)(is_front);                                     \
            const size_t to = i - ((i - front) & (0 - moves)); /* `front` if it moves */ \
            v[i] = v[to];                                                                \
            v[to] = value;                                                               \
            front += moves;                                                              \
        }                                                                                \
        return front;                                                                    \
    }

DEFINE_SPLIT(split_i64, int64_t, value < pivot)
DEFINE_SPLIT(split_f64, double, value < pivot)
DEFINE_SPLIT(split_i64_equal, int64_t, !(pivot < value))
DEFINE_SPLIT(split_f64_equal, double, !(pivot < value))

static int rounds_for(size_t n)
{
    int rounds = 2;
    for (; n; n /= 2)
        rounds += 2;
    return rounds;
}

#define DEFINE_SORT(name, sort, split, type)                                                \
    static type sort##_pivot(const type *v, size_t n)                                       \
    {                                                                                       \
        const type a = v[0], b = v[n / 2], c = v[n - 1];                                    \
        return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);           \
    }                                                                                       \
    void name(type *v, size_t n)                                                            \
    {                                                                                       \
        struct {                                                                            \
            type *v;                                                                        \
            size_t n;                                                                       \
            int rounds;                                                                     \
        } parts[MOST_PARTS]; /* the larger halves, which wait: each is at least twice as */ \
        size_t waiting = 0;  /* long as those that began to wait later */                   \
        for (int rounds = rounds_for(n);;) {                                                \
            for (; n > FEW && rounds; rounds--) {                                           \
                const type pivot = sort##_pivot(v, n);                                      \
                const size_t less = split(v, n, pivot);                                     \
                const size_t done = less ? 0 : split##_equal(v, n, pivot);                  \
                const int is_left = !done && less < n - less; /* is the smaller half */     \
                v += done;                                                                  \
                n -= done;                                                                  \
                if (done)                                                                   \
                    continue;                                                               \
                parts[waiting].v = is_left ? v + less : v;                                  \
                parts[waiting].n = is_left ? n - less : less;                               \
                parts[waiting++].rounds = rounds - 1;                                       \
                v += is_left ? 0 : less;                                                    \
                n = is_left ? less : n - less;                                              \
            }                                                                               \
            if (n > FEW)                                                                    \
                sort##_heap(v, n);                                                          \
            else                                                                            \
                sort##_insert(v, n);                                                        \
            if (!waiting)                                                                   \
                return;                                                                     \
            v = parts[--waiting].v;                                                         \
            n = parts[waiting].n;                                                           \
            rounds = parts[waiting].rounds;                                                 \
        }                                                                                   \
    }

DEFINE_SORT(pw_sort_i64, sort_i64, split_i64, int64_t)
DEFINE_SORT(pw_sort_f64, sort_f64, split_f64, double)

/* Quickselect: puts the k-th smallest value at index k. Values before it are not larger, values
 * behind it are not smaller. */
#define DEFINE_SELECT(name, sort, pivot_of, split, type)                \
    static void name(type *v, size_t n, size_t k)                       \
    {                                                                   \
        for (int rounds = rounds_for(n); n > FEW && rounds; rounds--) { \
            const type pivot = pivot_of(v, n);                          \
            size_t front = split(v, n, pivot);                          \
            if (k < front) {                                            \
                n = front;                                              \
                continue;                                               \
            }                                                           \
            front += split##_equal(v + front, n - front, pivot);        \
            if (k < front)                                              \
                return;                                                 \
            v += front;                                                 \
            n -= front;                                                 \
            k -= front;                                                 \
        }                                                               \
        sort(v, n);                                                     \
    }

DEFINE_SELECT(select_i64, pw_sort_i64, sort_i64_pivot, split_i64, int64_t)
DEFINE_SELECT(select_f64, pw_sort_f64, sort_f64_pivot, split_f64, double)

/* With an even n, the lower of the two middle values is the largest value of the first half. */
#define DEFINE_MEDIAN(name, select, type, between)   \
    type name(type *values, size_t n)                \
    {                                                \
        select(values, n, n / 2);                    \
        const type high = values[n / 2];             \
        if (n % 2)                                   \
            return high;                             \
        type low = values[0];                        \
        for (size_t i = 1; i < n / 2; i++)           \
            low = values[i] > low ? values[i] : low; \
        return between(low, high);                   \
    }

static int64_t between_i64(int64_t low, int64_t high)
{
    return low + (high - low) / 2;
}

static double between_f64(double low, double high)
{
    return (low + high) / 2;
}

DEFINE_MEDIAN(pw_median_i64, select_i64, int64_t, between_i64)
DEFINE_MEDIAN(pw_median_f64, select_f64, double, between_f64)

static void swap_i64(int64_t *a, int64_t *b)
{
    const int64_t held = *a;
    *a = *b;
    *b = held;
}

/* The value at n / 2 is in its place; its neighbours are the largest before it, and the smallest
 * behind it. */
void pw_sort_middle_i64(int64_t *values, size_t n)
{
    const size_t middle = n / 2;
    if (n < 2)
        return;
    select_i64(values, n, middle);
    size_t largest = 0, smallest = middle + 1;
    for (size_t i = 1; i < middle; i++)
        largest = values[i] > values[largest] ? i : largest;
    swap_i64(&values[largest], &values[middle - 1]);
    for (size_t i = middle + 2; i < n; i++)
        smallest = values[i] < values[smallest] ? i : smallest;
    if (smallest < n)
        swap_i64(&values[smallest], &values[middle + 1]);
}

static size_t quantile_index(size_t n, double q)
{
    double at = ceil(q * (double)n) - 1;
    if (!(at > 0))
        return 0;
    return (size_t)at < n ? (size_t)at : n - 1;
}

int64_t pw_quantile_i64(const int64_t *sorted, size_t n, double q)
{
    return sorted[quantile_index(n, q)];
}

/* The values before a quantile are not larger, so the next one is behind it. */
void pw_select_quantiles_i64(int64_t *values, size_t n, const double *q, size_t count, int64_t *out)
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t at = quantile_index(n, q[i]);
        if (at >= done)
            select_i64(values + done, n - done, at - done);
        done = at + 1;
        out[i] = values[at];
    }
}

double pw_quantile_f64(const double *sorted, size_t n, double q)
{
    return sorted[quantile_index(n, q)];
}

size_t pw_place_i64(const int64_t *sorted, size_t n, int64_t least)
{
    return pw_search(sorted, n, (struct pw_search_key){sizeof(*sorted), 0, sizeof(*sorted)}, least);
}

/* The values behind `value` move one place forward. The first that equals it is taken, so the
 * values before that are smaller: no search is needed. */
int64_t pw_median_without_i64(const int64_t *sorted, size_t n, int64_t value)
{
    const size_t left = n - 1, high = left / 2, low = left % 2 ? high : high - 1;
    const int64_t a = sorted[sorted[low] < value ? low : low + 1];
    const int64_t b = sorted[sorted[high] < value ? high : high + 1];
    return a + (b - a) / 2;
}

struct pw_middle pw_middle_of(int64_t *values, size_t n)
{
    const size_t at = n / 2;
    if (n < 2)
        return (struct pw_middle){-1, -1, -1};
    pw_sort_middle_i64(values, n);
    return (struct pw_middle){values[at - 1], values[at], n % 2 ? values[at + 1] : -1};
}

int64_t pw_middle_without(const struct pw_middle *middle, int64_t value)
{
    const int64_t sorted[] = {middle->low, middle->at, middle->high};
    return middle->low < 0 ? -1 : pw_median_without_i64(sorted, middle->high < 0 ? 2 : 3, value);
}

double pw_binomial_tail(int64_t n, int64_t k, double p)
{
    if (k <= 0)
        return 1;
    if (k > n || p <= 0)
        return 0;
    if (p >= 1)
        return 1;
    double sum = 0;
    for (int64_t i = k; i <= n; i++) {
        double log_term = lgamma((double)n + 1) - lgamma((double)i + 1) -
                          lgamma((double)(n - i) + 1) + (double)i * log(p) +
                          (double)(n - i) * log1p(-p);
        double term = exp(log_term);
        sum += term;
        /* Beyond the mode the terms decrease geometrically. */
        if (i > k + 8 && term < sum * 1e-12)
            break;
    }
    return sum < 1 ? sum : 1;
}

/* ---- whether two series differ by more than chance ---- */

enum { MOST_BLOCKS = 128, ALL_WAYS = 16, DRAWS = 9999, ENOUGH = 20, MOST_LAGS = 1000 };

/* The blocks of both series: first those of a. */
struct blocks {
    double sum[2 * MOST_BLOCKS], count[2 * MOST_BLOCKS];
    size_t n, in_a;
    double all_sum, all_count, observed;
};

static double mean_of(const double *values, size_t n)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++)
        mean += (values[i] - mean) / (double)(i + 1);
    return mean;
}

static double covariance(const double *values, size_t n, size_t lag, double mean)
{
    double sum = 0;
    for (size_t i = lag; i < n; i++)
        sum += (values[i] - mean) * (values[i - lag] - mean);
    return sum;
}

double pw_correlation_length(const double *values, size_t n)
{
    const double mean = mean_of(values, n), single = n ? covariance(values, n, 0, mean) : 0;
    const size_t most = n / 4 < MOST_LAGS ? n / 4 : MOST_LAGS;
    double length = -1, before = 2;
    for (size_t lag = 0; lag + 1 <= most && single > 0; lag += 2) {
        double pair =
            (covariance(values, n, lag, mean) + covariance(values, n, lag + 1, mean)) / single;
        if (!(pair > 0))
            break;
        before = pair < before ? pair : before;
        length += 2 * before;
    }
    return length > 1 ? length : 1;
}

static void add_blocks(struct blocks *b, const double *values, size_t n, size_t size, double origin)
{
    for (size_t i = 0; i < n; i += size) {
        size_t count = n - i < size ? n - i : size;
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += values[i + k] - origin;
        b->sum[b->n] = sum;
        b->count[b->n++] = (double)count;
        b->all_sum += sum;
        b->all_count += (double)count;
    }
}

static double difference(const struct blocks *b, double sum, double count)
{
    return fabs(sum / count - (b->all_sum - sum) / (b->all_count - count));
}

/* 1 when the difference is at least the observed one. It has a tolerance, because sums in another
 * order differ in their last bits. */
static int is_extreme(const struct blocks *b, double sum, double count)
{
    return difference(b, sum, count) >= b->observed * (1 - 1e-9);
}

static double p_of_all_ways(const struct blocks *b)
{
    size_t ways = 0, extreme = 0;
    for (uint32_t chosen = 0; chosen < (uint32_t)1 << b->n; chosen++) {
        double sum = 0, count = 0;
        if ((size_t)__builtin_popcount(chosen) != b->in_a)
            continue;
        for (size_t i = 0; i < b->n; i++) {
            sum += chosen >> i & 1 ? b->sum[i] : 0;
            count += chosen >> i & 1 ? b->count[i] : 0;
        }
        ways++;
        extreme += is_extreme(b, sum, count);
    }
    return (double)extreme / (double)ways;
}

/* SplitMix64 (Steele, Lea & Flood, OOPSLA 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void pw_permutation_shuffle(size_t *order, size_t n, size_t chosen, uint64_t *state)
{
    for (size_t i = 0; i < chosen; i++) {
        const size_t other = i + (size_t)(next_random(state) % (n - i)), held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
}

static double p_of_draws(const struct blocks *b)
{
    uint64_t state = 1;
    size_t order[2 * MOST_BLOCKS], extreme = 0, drawn = 0;
    for (size_t i = 0; i < b->n; i++)
        order[i] = i;
    while (drawn < DRAWS && extreme < ENOUGH) {
        double sum = 0, count = 0;
        pw_permutation_shuffle(order, b->n, b->in_a, &state);
        for (size_t i = 0; i < b->in_a; i++) {
            sum += b->sum[order[i]];
            count += b->count[order[i]];
        }
        drawn++;
        extreme += is_extreme(b, sum, count);
    }
    return extreme < ENOUGH ? (double)(extreme + 1) / (double)(drawn + 1)
                            : (double)extreme / (double)drawn;
}

static size_t block_size(size_t na, size_t nb, size_t asked)
{
    const size_t fewer = na < nb ? na : nb, more = na < nb ? nb : na;
    const size_t most = fewer / PW_PERMUTATION_LEAST,
                 least = (more + MOST_BLOCKS - 1) / MOST_BLOCKS;
    size_t size = asked < most ? asked : most;
    return size > least ? size : least;
}

double pw_permutation_test(const double *a, size_t na, const double *b, size_t nb, size_t block)
{
    struct blocks blocks = {.n = 0};
    if (na < 2 || nb < 2)
        return 1;
    const size_t size = block_size(na, nb, block);
    const double origin = mean_of(a, na);
    add_blocks(&blocks, a, na, size, origin);
    blocks.in_a = blocks.n;
    const double sum = blocks.all_sum, count = blocks.all_count;
    add_blocks(&blocks, b, nb, size, origin);
    blocks.observed = difference(&blocks, sum, count);
    if (!(blocks.observed > 0))
        return 1;
    return blocks.n <= ALL_WAYS ? p_of_all_ways(&blocks) : p_of_draws(&blocks);
}

static size_t count_equal(const double *sorted, size_t n, size_t from, double value)
{
    size_t i = from;
    while (i < n && sorted[i] == value)
        i++;
    return i - from;
}

double pw_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double correlation)
{
    double rank_sum = 0, ties = 0, n1 = (double)na, n2 = (double)nb, n = n1 + n2;
    size_t i = 0, k = 0;
    if (na < 2 || nb < 2)
        return 1;
    while (i < na || k < nb) {
        double value = k >= nb || (i < na && a[i] <= b[k]) ? a[i] : b[k];
        size_t in_a = count_equal(a, na, i, value), in_b = count_equal(b, nb, k, value);
        double equal = (double)(in_a + in_b), before = (double)(i + k);
        rank_sum += (double)in_a * (before + (equal + 1) / 2);
        ties += equal * equal * equal - equal;
        i += in_a;
        k += in_b;
    }
    double u = rank_sum - n1 * (n1 + 1) / 2, apart = fabs(u - n1 * n2 / 2) - 0.5;
    double variance = n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1)));
    double r = correlation < 0 ? 0 : correlation < 0.99 ? correlation : 0.99;
    variance *= (1 + r) / (1 - r);
    if (!(variance > 0) || apart <= 0)
        return 1;
    return erfc(apart / sqrt(2 * variance));
}
