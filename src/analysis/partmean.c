/* Means of the parts of the run; see partmean.h. Sums are in double: a damaged file must not
 * overflow an integer. */
#include "analysis/partmean.h"

static const struct pw_row_c_part_trace *row_of(const struct pw_row_c_part_trace *rows,
                                                size_t nranks, enum pw_part part, size_t rank)
{
    return &rows[(size_t)(part - PW_PART_START) * nranks + rank];
}

struct pw_parts_known pw_parts_known(const struct pw_row_c_part_trace *rows, size_t nranks)
{
    struct pw_parts_known known = {1, 1, 1, 0};
    for (size_t r = 0; rows && r < nranks; r++) {
        if (row_of(rows, nranks, PW_PART_STEPS, r)->total_ns < 0)
            continue; /* no file: the steps of all others are known */
        known.nranks++;
        known.has_init &= row_of(rows, nranks, PW_PART_INIT, r)->total_ns >= 0;
        known.has_steps &= row_of(rows, nranks, PW_PART_SETUP, r)->total_ns >= 0;
        known.has_finalize &= row_of(rows, nranks, PW_PART_FINALIZE, r)->total_ns >= 0;
    }
    return known;
}

struct pw_parts_known pw_parts_known_of_both(struct pw_parts_known a, struct pw_parts_known b)
{
    return (struct pw_parts_known){
        .has_init = a.has_init && b.has_init,
        .has_steps = a.has_steps && b.has_steps,
        .has_finalize = a.has_finalize && b.has_finalize,
        .nranks = a.nranks < b.nranks ? a.nranks : b.nranks,
    };
}

/* The part that the time of a part counts in. */
static enum pw_part counts_in(const struct pw_parts_known *known, enum pw_part part)
{
    if ((part == PW_PART_START || part == PW_PART_INIT) && !known->has_init)
        part = PW_PART_SETUP;
    if ((part == PW_PART_FINALIZE || part == PW_PART_END) && !known->has_finalize)
        part = PW_PART_TAIL;
    return (part == PW_PART_SETUP || part == PW_PART_TAIL) && !known->has_steps ? PW_PART_STEPS
                                                                                : part;
}

int pw_parts_is_known(const struct pw_parts_known *known, enum pw_part part)
{
    return known->nranks && counts_in(known, part) == part;
}

struct pw_part_time pw_parts_time(const struct pw_row_c_part_trace *rows, size_t nranks,
                                  const struct pw_parts_known *known, size_t rank,
                                  enum pw_part part)
{
    struct pw_part_time time = {-1, -1};
    if (!pw_parts_is_known(known, part) || row_of(rows, nranks, PW_PART_STEPS, rank)->total_ns < 0)
        return time;
    time = (struct pw_part_time){0, 0};
    for (int from = PW_PART_START; from <= PW_PART_END; from++) {
        const struct pw_row_c_part_trace *row = row_of(rows, nranks, (enum pw_part)from, rank);
        if (counts_in(known, (enum pw_part)from) != part || row->total_ns < 0)
            continue;
        time.total_ns += (double)row->total_ns;
        time.wait_ns += row->wait_ns > 0 ? (double)row->wait_ns : 0;
    }
    return time;
}

double pw_parts_own(const struct pw_row_c_part_trace *rows, size_t nranks,
                    const struct pw_parts_known *known, size_t rank, enum pw_part part)
{
    const struct pw_part_time time = pw_parts_time(rows, nranks, known, rank, part);
    return time.total_ns > time.wait_ns ? time.total_ns - time.wait_ns : time.total_ns < 0 ? -1 : 0;
}

void pw_partmeans(const struct pw_row_c_part_trace *rows, size_t nranks,
                  const struct pw_parts_known *known, struct pw_partmean out[PW_PARTS])
{
    for (int part = PW_PART_START; part <= PW_PART_END; part++) {
        struct pw_partmean *mean = &out[part - PW_PART_START];
        *mean = (struct pw_partmean){-1, -1, -1, 0};
        if (!pw_parts_is_known(known, (enum pw_part)part))
            continue;
        double total_ns = 0, wait_ns = 0;
        for (size_t r = 0; r < nranks; r++) {
            const struct pw_part_time time =
                pw_parts_time(rows, nranks, known, r, (enum pw_part)part);
            const double own = pw_parts_own(rows, nranks, known, r, (enum pw_part)part);
            if (time.total_ns < 0)
                continue;
            total_ns += time.total_ns;
            wait_ns += time.wait_ns;
            if (own > mean->most_ns) {
                mean->most_ns = own;
                mean->most_rank = r;
            }
        }
        mean->mean_ns = total_ns / (double)known->nranks;
        mean->wait_ns = wait_ns / (double)known->nranks;
    }
}

struct pw_partmean pw_partmeans_sum(const struct pw_partmean means[PW_PARTS])
{
    struct pw_partmean sum = {0, 0, -1, 0};
    for (size_t i = 0; i < PW_PARTS; i++)
        if (means[i].mean_ns >= 0) {
            sum.mean_ns += means[i].mean_ns;
            sum.wait_ns += means[i].wait_ns;
        }
    return sum;
}
