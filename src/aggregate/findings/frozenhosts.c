/* Hosts at a standstill, of the ranks that are; see frozenhosts.h. */
#include "aggregate/findings/frozenhosts.h"

#include <string.h>

static int is_frozen_on(const struct pw_row_c_straggler *row, const char *hostname)
{
    return row->cause == PW_CAUSE_HOST_FROZEN &&
           strncmp(row->hostname, hostname, sizeof(row->hostname)) == 0;
}

static struct pw_row_c_host *host_row(struct pw_findings *f, const char *hostname)
{
    for (size_t i = 0; i < f->whatif.nhosts; i++)
        if (strncmp(f->whatif.hosts[i].hostname, hostname, sizeof(f->whatif.hosts[i].hostname)) ==
            0)
            return &f->whatif.hosts[i];
    return &f->whatif.hosts[f->whatif.nhosts++];
}

/* What the replay says of the host; -1: it was not asked. */
static int64_t gain_of(const struct pw_whatif *whatif, const char *hostname)
{
    for (size_t i = 0; i < whatif->nrows; i++)
        if (strcmp(whatif->rows[i].scope, "host") == 0 &&
            strncmp(whatif->rows[i].hostname, hostname, sizeof(whatif->rows[i].hostname)) == 0)
            return whatif->rows[i].gain_ns;
    return -1;
}

/* What the least of its ranks lost, all lost together. */
static struct pw_row_c_host sum_frozen(const struct pw_findings *f, const char *hostname)
{
    struct pw_row_c_host row = {.lost_ns = INT64_MAX, .gain_ns = -1, .confidence = 1};
    memcpy(row.hostname, hostname, sizeof(row.hostname));
    row.cause = PW_CAUSE_HOST_FROZEN;
    row.first_step = row.last_step = -1;
    for (size_t i = 0; i < f->nstragglers; i++) {
        const struct pw_row_c_straggler *of = &f->stragglers[i];
        if (!is_frozen_on(of, hostname))
            continue;
        row.slow_ranks++;
        row.lost_ns = of->lost_ns < row.lost_ns ? of->lost_ns : row.lost_ns;
        row.confidence = of->confidence < row.confidence ? of->confidence : row.confidence;
        if (row.first_step < 0 || (of->first_step >= 0 && of->first_step < row.first_step))
            row.first_step = of->first_step;
        row.last_step = of->last_step > row.last_step ? of->last_step : row.last_step;
    }
    row.excess_ns = row.lost_ns;
    /* What is lost inside calls stays a transfer in the replay. */
    row.gain_ns = gain_of(&f->whatif, hostname);
    row.gain_ns = row.gain_ns < row.lost_ns / 2 ? -1 : row.gain_ns;
    return row;
}

void pw_frozenhosts_find(struct pw_findings *f, const struct pw_world *world,
                         const int64_t *numbers, size_t nhosts)
{
    for (size_t h = 0; h < nhosts && nhosts > 1; h++) {
        const char *hostname = NULL;
        int32_t nranks = 0;
        for (int64_t r = 0; r < world->nranks; r++)
            if ((size_t)numbers[r] == h) {
                hostname = world->ranks[r].hostname;
                nranks++;
            }
        struct pw_row_c_host row = hostname ? sum_frozen(f, hostname) : (struct pw_row_c_host){0};
        row.nranks = nranks;
        if (row.slow_ranks > 1 && 3 * row.slow_ranks >= 2 * row.nranks)
            *host_row(f, hostname) = row;
    }
}
