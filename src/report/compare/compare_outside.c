/* Whose time outside steps changed between two runs; see compare.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "report/compare/compare_rows.h"
#include "report/writing/words.h"

#define EXPLAINS 0.5 /* of a difference of the wall time: then it is that rank's */

/* The ranks that both runs have, one after the other; both tables are in order of their numbers. */
struct pairs {
    const struct pw_cluster *runs[2];
    size_t at[2];
};

static int next_pair(struct pairs *p, size_t rows[2])
{
    const struct pw_cluster *x = p->runs[0], *y = p->runs[1];
    while (p->at[0] < x->nrank_rows && p->at[1] < y->nrank_rows) {
        const int32_t first = x->ranks[p->at[0]].rank, second = y->ranks[p->at[1]].rank;
        rows[0] = p->at[0];
        rows[1] = p->at[1];
        p->at[0] += first <= second;
        p->at[1] += second <= first;
        if (first == second)
            return 1;
    }
    return 0;
}

/* Own time of a rank in the part, in both runs; 0 when it is not known. */
static int own_times(const struct pw_compare_building *b, const size_t rows[2], enum pw_part part,
                     double own[2])
{
    for (int i = 0; i < 2; i++)
        own[i] = pw_parts_own(b->runs[i]->part_trace, b->runs[i]->nrank_rows, &b->out->parts_known,
                              rows[i], part);
    return own[0] >= 0 && own[1] >= 0;
}

/* The rank with the largest change. */
static void find_most(struct pw_compare_building *b, struct pw_compare_outside *out)
{
    struct pairs pairs = {{b->runs[0], b->runs[1]}, {0, 0}};
    size_t rows[2];
    double own[2];
    while (next_pair(&pairs, rows)) {
        if (!own_times(b, rows, out->part, own))
            continue;
        if (!out->known++ || fabs(own[1] - own[0]) > fabs(out->b - out->a)) {
            out->rank = b->runs[0]->ranks[rows[0]].rank;
            out->a = own[0];
            out->b = own[1];
            pw_compare_rank_name(b, rows[0], rows[1], out->name, sizeof(out->name));
        }
    }
}

static void count_alike(struct pw_compare_building *b, struct pw_compare_outside *out)
{
    struct pairs pairs = {{b->runs[0], b->runs[1]}, {0, 0}};
    const double half = (out->b - out->a) / 2;
    size_t rows[2];
    double own[2];
    while (next_pair(&pairs, rows))
        if (own_times(b, rows, out->part, own))
            out->alike += half > 0 ? own[1] - own[0] >= half : own[1] - own[0] <= half;
}

void pw_compare_find_outside(struct pw_compare_building *b)
{
    struct pw_comparison *c = b->out;
    for (int part = PW_PART_START; part <= PW_PART_END; part++) {
        struct pw_compare_outside *out = &c->outside[c->noutside];
        *out = (struct pw_compare_outside){.part = (enum pw_part)part, .rank = -1};
        if (part == PW_PART_STEPS || !pw_parts_is_known(&c->parts_known, (enum pw_part)part))
            continue;
        find_most(b, out);
        count_alike(b, out);
        c->noutside += out->known > 0;
    }
}

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
