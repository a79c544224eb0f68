/* Scores hosts and links for the merge; see groups.h. */
#include "analysis/groups.h"

#include <math.h>

#include "analysis/statistics.h"

#define SIGNIFICANCE 0.01
#define LEAST_RATIO 1.5
#define LEAST_MESSAGES 3
#define LEAST_OTHERS 4

struct tally {
    int64_t *ranks, *slow; /* [nhosts] */
    int64_t *values;
};

static int is_slow(const struct tally *t, size_t host)
{
    return t->slow[host] >= 2 && 3 * t->slow[host] >= 2 * t->ranks[host];
}

/* The median window, excess and least confidence of a host's stragglers; 0 when they share no
 * step. */
static int describe(const struct pw_straggler_found *found, size_t nfound, const int64_t *host_of,
                    const struct tally *t, struct pw_host_found *out)
{
    int64_t *first = t->values, *last, *excess;
    size_t n = (size_t)t->slow[out->host], k = 0;
    last = first + n;
    excess = last + n;
    int64_t latest_first = INT64_MIN, earliest_last = INT64_MAX;
    out->confidence = 1;
    for (size_t i = 0; i < nfound; i++) {
        if ((size_t)host_of[found[i].rank] != out->host || found[i].is_inside)
            continue;
        first[k] = (int64_t)found[i].first;
        last[k] = (int64_t)found[i].last;
        excess[k++] = found[i].excess_ns;
        latest_first = first[k - 1] > latest_first ? first[k - 1] : latest_first;
        earliest_last = last[k - 1] < earliest_last ? last[k - 1] : earliest_last;
        out->confidence =
            found[i].confidence < out->confidence ? found[i].confidence : out->confidence;
    }
    out->first = (size_t)pw_median_i64(first, k);
    out->last = (size_t)pw_median_i64(last, k);
    out->excess_ns = pw_median_i64(excess, k);
    return latest_first <= earliest_last;
}

size_t pw_hosts_find(const struct pw_straggler_found *found, size_t nfound,
                     const struct pw_hosts *hosts, struct pw_host_found *out, int64_t *scratch)
{
    const int64_t *host_of = hosts->host_of;
    const size_t nranks = hosts->nranks, nhosts = hosts->nhosts;
    struct tally t = {scratch, scratch + nhosts, scratch + 2 * nhosts};
    size_t count = 0, slow = 0;
    for (size_t h = 0; h < nhosts; h++)
        t.ranks[h] = t.slow[h] = 0;
    for (size_t r = 0; r < nranks; r++)
        t.ranks[host_of[r]]++;
    for (size_t i = 0; i < nfound; i++)
        t.slow[host_of[found[i].rank]] += !found[i].is_inside;
    for (size_t h = 0; h < nhosts; h++)
        slow += (size_t)is_slow(&t, h);
    for (size_t h = 0; h < nhosts && 2 * slow < nhosts; h++) {
        struct pw_host_found one = {
            .host = h, .nranks = (size_t)t.ranks[h], .slow_ranks = (size_t)t.slow[h]};
        if (is_slow(&t, h) && describe(found, nfound, host_of, &t, &one))
            out[count++] = one;
    }
    return count;
}

static double mean_of(const struct pw_link *link)
{
    return link->sum_ns / (double)link->messages;
}

/* Median of the means of the link's kind, itself left out; -1 with fewer than 4. */
static double others_mean(const struct pw_link *links, size_t n, size_t mine, int64_t *scratch)
{
    size_t others = 0;
    for (size_t i = 0; i < n; i++)
        if (i != mine && links[i].kind == links[mine].kind && links[i].messages >= LEAST_MESSAGES)
            scratch[others++] = (int64_t)mean_of(&links[i]);
    return others >= LEAST_OTHERS ? (double)pw_median_i64(scratch, others) : -1;
}

/* Chance of a mean that far above the others', were the link like them. */
static double chance(const struct pw_link *link, double others)
{
    double n = (double)link->messages, mean = mean_of(link);
    double variance = (link->squares_ns - n * mean * mean) / (n - 1);
    double error = sqrt((variance > 0 ? variance : 0) / n) + 1;
    return erfc((mean - others) / error / sqrt(2.0)) / 2;
}

/* Of the links into one rank only the one with the largest mean. */
static size_t keep_slowest(const struct pw_link *links, struct pw_link_found *found, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        int slowest = 1;
        for (size_t k = 0; k < n && slowest; k++)
            slowest = links[found[k].link].dst != links[found[i].link].dst ||
                      found[k].transfer_ns <= found[i].transfer_ns;
        found[i].confidence = slowest ? found[i].confidence : -1;
    }
    for (size_t i = 0; i < n; i++)
        if (found[i].confidence >= 0)
            found[kept++] = found[i];
    return kept;
}

size_t pw_links_find(const struct pw_link *links, size_t n, struct pw_link_found *out, size_t max,
                     int64_t *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < n && count < max; i++) {
        if (links[i].messages < LEAST_MESSAGES || links[i].error_ns < 0)
            continue;
        double others = others_mean(links, n, i, scratch), mean = mean_of(&links[i]);
        if (others <= 0 || mean < LEAST_RATIO * others ||
            mean - others <= (double)links[i].error_ns)
            continue;
        double p = chance(&links[i], others) * (double)n;
        if (p < SIGNIFICANCE)
            out[count++] = (struct pw_link_found){i, mean, others, 1 - p};
    }
    return keep_slowest(links, out, count);
}
