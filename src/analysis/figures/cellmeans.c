/* Adds as integers where the sums are the same: in which a double is exact. See cellmeans.h. */
#include "analysis/figures/cellmeans.h"

#include <string.h>

enum { EXACT_BITS = 53 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Whether no sum of `n` values of the field is rounded. */
static int is_exact(const struct pw_cells *cells, size_t offset, size_t n)
{
    const int room = EXACT_BITS - pw_cells_bits(cells, offset);
    return room > 0 && n < (size_t)1 << room;
}

/* Sums and counts of known values, for some ranks. */
struct sums {
    int64_t sum[PW_CELLS_RANKS], count[PW_CELLS_RANKS];
};

static void add_values(struct sums *sums, const int64_t *values, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        const int64_t is_known = (int64_t)((uint64_t)values[r] >> 63) - 1; /* all bits, or none */
        sums->sum[r] += values[r] & is_known;
        sums->count[r] -= is_known;
    }
}

/* Some ranks of a field: they are added up together. */
struct strip {
    const struct pw_cells *cells;
    size_t offset, rank, ranks, stride;
    const struct pw_row_c_step *steps;
    int is_exact;
};

static void add_area(const struct strip *strip, const struct pw_cells_area *area, struct sums *sums,
                     struct pw_mean *means)
{
    int64_t values[PW_CELLS_STEPS * PW_CELLS_RANKS];
    pw_cells_read(strip->cells, strip->offset, area, values);
    for (size_t s = 0; s < area->steps; s++) {
        const int64_t *row = values + s * area->ranks;
        if (strip->steps[area->step + s].recorded != PW_RECORDED_ACTIVE)
            continue;
        if (strip->is_exact)
            add_values(sums, row, area->ranks);
        for (size_t r = 0; r < area->ranks && !strip->is_exact; r++)
            pw_mean_add(&means[r * strip->stride], row[r]);
    }
}

static void add_strip(const struct strip *strip, struct pw_mean *means)
{
    struct sums sums = {{0}, {0}};
    const size_t nsteps = strip->cells->nsteps;
    for (size_t s = 0; s < nsteps; s += PW_CELLS_STEPS) {
        const struct pw_cells_area area = {s, least(nsteps - s, PW_CELLS_STEPS), strip->rank,
                                           strip->ranks};
        add_area(strip, &area, &sums, means);
    }
    for (size_t r = 0; r < strip->ranks && strip->is_exact; r++) {
        means[r * strip->stride].sum += (double)sums.sum[r];
        means[r * strip->stride].count += sums.count[r];
    }
}

void pw_cellmeans_of_ranks(const struct pw_cells *cells, size_t offset,
                           const struct pw_row_c_step *steps, struct pw_mean *means, size_t stride)
{
    struct strip strip = {
        cells, offset, 0, 0, stride, steps, is_exact(cells, offset, cells->nsteps)};
    for (; strip.rank < cells->nranks; strip.rank += PW_CELLS_RANKS) {
        strip.ranks = least(cells->nranks - strip.rank, PW_CELLS_RANKS);
        add_strip(&strip, means + strip.rank * stride);
    }
}

static void add_step(const int64_t *values, size_t n, int exact, struct pw_mean *mean)
{
    int64_t sum = 0, count = 0;
    for (size_t r = 0; r < n && !exact; r++)
        pw_mean_add(mean, values[r]);
    for (size_t r = 0; r < n && exact; r++) {
        const int64_t is_known = (int64_t)((uint64_t)values[r] >> 63) - 1; /* all bits, or none */
        sum += values[r] & is_known;
        count -= is_known;
    }
    mean->sum += (double)sum;
    mean->count += count;
}

void pw_cellmeans_of_steps(const struct pw_cells *cells, size_t offset, size_t first, size_t n,
                           struct pw_mean *means)
{
    int64_t values[PW_CELLS_STEPS * PW_CELLS_RANKS];
    const int exact = is_exact(cells, offset, cells->nranks);
    for (size_t rank = 0; rank < cells->nranks; rank += PW_CELLS_RANKS)
        for (size_t at = 0; at < n; at += PW_CELLS_STEPS) {
            const struct pw_cells_area area = {first + at, least(n - at, PW_CELLS_STEPS), rank,
                                               least(cells->nranks - rank, PW_CELLS_RANKS)};
            pw_cells_read(cells, offset, &area, values);
            for (size_t s = 0; s < area.steps; s++)
                add_step(values + s * area.ranks, area.ranks, exact, &means[at + s]);
        }
}
