/* Makes the rows of a comparison, after the parts of each run; decides whether two runs can be
 * compared, which differences are sure, and which rank causes them; see compare.h. */
#include "report/compare/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/advice_unrecorded.h"
#include "analysis/figures/cellmeans.h"
#include "analysis/statistics.h"
#include "core/text.h"
#include "report/writing/words.h"

/* Makes the rows of a comparison, after the parts of each run. Sums are of type double, so that a
 * damaged file cannot overflow an integer. See compare.h. */

/* ---- the parts of a run ---- */

static double longest_run(const struct pw_cluster *c)
{
    double longest = -1;
    for (size_t r = 0; r < c->nrank_rows; r++)
        longest = (double)c->ranks[r].run_ns > longest ? (double)c->ranks[r].run_ns : longest;
    if (longest <= 0)
        longest = c->start_unix_ns > 0 && c->end_unix_ns > c->start_unix_ns
                      ? (double)c->end_unix_ns - (double)c->start_unix_ns
                      : -1;
    return longest;
}

static double at_least_0(double ns)
{
    return ns > 0 ? ns : 0;
}

/* The begin and the end of the steps, from the parts of all ranks. */
struct ends {
    double late;  /* time from the first rank's start of the first step to the last rank's, if all
                     have the same first step; else 0 */
    double after; /* time from the last rank's end of its last step to the end of the run; -1: not
                     known */
};

static double sum_parts(const struct pw_cluster *c, const struct pw_parts_known *known, size_t rank,
                        enum pw_part first, enum pw_part last)
{
    double sum = 0;
    for (int part = (int)first; part <= (int)last; part++)
        sum += at_least_0(
            pw_parts_time(c->part_trace, c->nrank_rows, known, rank, (enum pw_part)part).total_ns);
    return sum;
}

static struct ends find_ends(const struct pw_cluster *c)
{
    const struct pw_parts_known known =
        pw_parts_known(c->part_trace, c->nrank_rows, c->init_source);
    double first = -1, last = -1, after = -1;
    int is_same = 1;
    for (size_t r = 0; known.nranks && known.has_steps && r < c->nrank_rows; r++) {
        if (pw_parts_own(c->part_trace, c->nrank_rows, &known, r, PW_PART_STEPS) < 0)
            continue; /* the rank has no file */
        const double begun = sum_parts(c, &known, r, PW_PART_START, PW_PART_SETUP);
        const double rest = sum_parts(c, &known, r, PW_PART_TAIL, PW_PART_END);
        is_same &= pw_cells_value(&c->step_trace, offsetof(struct pw_row_c_step_trace, total_ns), 0,
                                  r) >= 0;
        first = first < 0 || begun < first ? begun : first;
        last = begun > last ? begun : last;
        after = after < 0 || rest < after ? rest : after;
    }
    const double longest = at_least_0((double)c->steps[0].end - (double)c->steps[0].start);
    const double late = is_same ? last - first : 0;
    return (struct ends){late < longest ? late : longest, after};
}

/* Walks over the steps. `cursor` is the time up to which the run is accounted for; returns it at
 * the end of the steps. */
static double walk(const struct pw_cluster *c, double late, double *walls, size_t *rows,
                   struct pw_runparts *out)
{
    double cursor = (double)c->steps[0].start + late;
    for (size_t s = 0; s < c->nstep_rows; s++) {
        const double start = (double)c->steps[s].start, end = (double)c->steps[s].end;
        const double gap = at_least_0(start - cursor), passed = at_least_0(end - (cursor + gap));
        const double total = at_least_0((double)c->steps[s].duration_ns);
        const double wall = passed < total ? passed : total;
        cursor += gap + passed;
        out->between +=
            gap + (s ? passed - wall : 0); /* for the first step, this is the time before it */
        if (c->steps[s].recorded != PW_RECORDED_ACTIVE) {
            out->unmeasured += wall;
            continue;
        }
        out->measured += wall;
        walls[out->nsteps] = wall;
        rows[out->nsteps++] = s;
    }
    return cursor;
}

static void sum_totals(const struct pw_cluster *c, double *walls, size_t *rows,
                       struct pw_runparts *out)
{
    for (size_t s = 0; s < c->nstep_rows; s++) {
        const double total = at_least_0((double)c->steps[s].duration_ns);
        if (c->steps[s].recorded != PW_RECORDED_ACTIVE) {
            out->unmeasured += total;
            continue;
        }
        out->measured += total;
        walls[out->nsteps] = total;
        rows[out->nsteps++] = s;
    }
}

/* The time from the last rank's end of the last step to the end of the run; -1: not known. */
static double find_after(const struct pw_cluster *c, const struct ends *ends, double cursor)
{
    if (c->nwindows > 1 || (c->nwindows == 1 && c->windows[0].cause != PW_OPENED_RUN))
        return -1;
    if (ends->after >= 0)
        return ends->after;
    return c->nwindows ? at_least_0((double)c->windows[0].end - cursor) : -1;
}

void pw_runparts_find(const struct pw_cluster *c, int with_parts, double *walls, size_t *rows,
                      struct pw_runparts *out)
{
    *out = (struct pw_runparts){.run = longest_run(c), .before = -1, .after = -1, .outside = -1};
    const int is_aligned = c->clock_error_max_ns >= 0;
    double cursor = 0;
    struct ends ends = {0, -1};
    if (c->nstep_rows && is_aligned) {
        ends = with_parts ? find_ends(c) : ends;
        cursor = walk(c, ends.late, walls, rows, out);
    } else {
        sum_totals(c, walls, rows, out);
    }
    if (out->run < 0 || !c->nstep_rows)
        return;
    out->outside = at_least_0(out->run - out->measured - out->unmeasured - out->between);
    const double after = is_aligned ? find_after(c, &ends, cursor) : -1;
    if (after < 0)
        return;
    out->after = after < out->outside ? after : out->outside;
    out->before = out->outside - out->after;
}

/* ---- the ranks whose time outside steps changed ---- */

/* Writes "rank 3 (node-a)" or "rank 3 (node-a, then node-b)"; first and second are rows of /ranks
 * in the two runs. */
static void name_rank(const struct pw_compare_building *b, size_t first, size_t second, char *out,
                      size_t size)
{
    const struct pw_row_c_rank *x = &b->runs[0]->ranks[first], *y = &b->runs[1]->ranks[second];
    const int has_moved = strcmp(x->hostname, y->hostname) != 0;
    snprintf(out, size, "rank %" PRId32 " (%.48s%s%.48s)", x->rank, x->hostname,
             has_moved ? ", then " : "", has_moved ? y->hostname : "");
}

/* An iterator over the ranks that both runs have; both tables are sorted by rank. */
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

/* Reads the own time of a rank in the part in both runs. Returns 0 when one is not known. */
static int own_times(const struct pw_compare_building *b, const size_t rows[2], enum pw_part part,
                     double own[2])
{
    for (int i = 0; i < 2; i++)
        own[i] = pw_parts_own(b->runs[i]->part_trace, b->runs[i]->nrank_rows, &b->out->parts_known,
                              rows[i], part);
    return own[0] >= 0 && own[1] >= 0;
}

/* Finds the rank with the largest change. */
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
            name_rank(b, rows[0], rows[1], out->name, sizeof(out->name));
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

/* Fills b->out->outside. */
static void find_outside(struct pw_compare_building *b)
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

/* ---- the rows ---- */

#define LEAST_OF_RUN 0.001 /* of the first run: smaller differences outside steps are not shown */

enum {
    RANKS_TESTED = 256
}; /* ranks with the largest change that are tested; a test takes milliseconds */

/* The quantity of a row's samples. */
struct subject {
    size_t offset; /* offset of an int64_t in a cell */
    int is_phase;
    int64_t rank; /* row of /ranks; -1: mean over ranks */
};

static struct pw_compare_row *add_row(struct pw_compare_building *b, enum pw_compare_group group)
{
    struct pw_comparison *c = b->out;
    if (c->nrows == b->capacity) {
        size_t capacity = b->capacity ? 2 * b->capacity : 64;
        struct pw_compare_row *rows = realloc(c->rows, capacity * sizeof(*rows));
        if (!rows) {
            b->error = -ENOMEM;
            return NULL;
        }
        c->rows = rows;
        b->capacity = capacity;
    }
    struct pw_compare_row *row = &c->rows[c->nrows++];
    *row = (struct pw_compare_row){.group = group, .rank = -1, .a = -1, .b = -1, .p = -1};
    return row;
}

/* A value in both runs, and the probability of such a difference by chance; -1: not tested. */
struct pair {
    double a, b, p;
};

static void add_pair(struct pw_compare_building *b, enum pw_compare_group group, const char *name,
                     struct pair pair)
{
    struct pw_compare_row *row = pair.a <= 0 && pair.b <= 0 ? NULL : add_row(b, group);
    if (!row)
        return;
    snprintf(row->name, sizeof(row->name), "%s", name);
    row->a = pair.a;
    row->b = pair.b;
    row->p = pair.p;
}

static void add_run(struct pw_compare_building *b)
{
    const struct pw_runparts *x = &b->out->parts[0], *y = &b->out->parts[1];
    const int is_split = x->before >= 0 && y->before >= 0;
    add_pair(b, PW_COMPARE_RUN, "the run", (struct pair){x->run, y->run, -1});
    if (is_split)
        add_pair(b, PW_COMPARE_RUN, "before the first step",
                 (struct pair){x->before, y->before, -1});
    add_pair(b, PW_COMPARE_RUN, "measured steps", (struct pair){x->measured, y->measured, -1});
    add_pair(b, PW_COMPARE_RUN, "steps not measured",
             (struct pair){x->unmeasured, y->unmeasured, -1});
    add_pair(b, PW_COMPARE_RUN, "between steps", (struct pair){x->between, y->between, -1});
    if (is_split)
        add_pair(b, PW_COMPARE_RUN, "after the last step", (struct pair){x->after, y->after, -1});
    else
        add_pair(b, PW_COMPARE_RUN, "before and after the steps",
                 (struct pair){x->outside, y->outside, -1});
}

static void add_outside(struct pw_compare_building *b)
{
    find_outside(b);
    for (size_t i = 0; i < b->out->noutside; i++) {
        const struct pw_compare_outside *out = &b->out->outside[i];
        char name[256];
        if (fabs(out->b - out->a) < LEAST_OF_RUN * b->out->parts[0].run)
            continue;
        snprintf(name, sizeof(name), "%s: %s", pw_words_part(out->part, &b->out->parts_known),
                 out->name);
        add_pair(b, PW_COMPARE_PART, name, (struct pair){out->a, out->b, -1});
    }
}

static void add_steps(struct pw_compare_building *b)
{
    const struct pw_steppair *pair = &b->out->steps;
    const struct pw_steps_summary *x = &pair->runs[0], *y = &pair->runs[1];
    const size_t first = b->out->nrows;
    if (!b->out->has_steps)
        return;
    add_pair(b, PW_COMPARE_STEP, "mean", (struct pair){x->mean, y->mean, pair->p_mean});
    add_pair(b, PW_COMPARE_STEP, "median", (struct pair){x->median, y->median, pair->p_median});
    add_pair(b, PW_COMPARE_STEP, "90 % are shorter than",
             (struct pair){x->p90, y->p90, pair->p_tail});
    add_pair(b, PW_COMPARE_STEP, "99 % are shorter than", (struct pair){x->p99, y->p99, -1});
    add_pair(b, PW_COMPARE_STEP, "slowest",
             (struct pair){x->slowest, y->slowest, pair->p_few < 1 ? pair->p_few : -1});
    for (size_t i = first; i < b->out->nrows; i++) {
        b->out->rows[i].a_steps = x->n;
        b->out->rows[i].b_steps = y->n;
    }
}

/* Returns the value in one step; -1: not known. */
static double sample(const struct pw_cluster *c, const struct subject *s, size_t step)
{
    const struct pw_cells *grid = s->is_phase ? &c->phase_trace : &c->step_trace;
    struct pw_mean mean = {0};
    if (!pw_cells_is_known(grid))
        return -1;
    if (s->rank < 0)
        pw_cellmeans_of_steps(grid, s->offset, step, 1, &mean);
    else
        pw_mean_add(&mean, pw_cells_value(grid, s->offset, step, (size_t)s->rank));
    return mean.count ? mean.sum / (double)mean.count : -1;
}

/* Fills b->values[i] with the values of run i in its measured steps. Returns their mean. */
static double collect(struct pw_compare_building *b, int i, const struct subject *subject)
{
    double mean = 0;
    b->nvalues[i] = 0;
    for (size_t k = 0; k < b->out->parts[i].nsteps; k++) {
        const double value = sample(b->runs[i], subject, b->rows[i][k]);
        if (value < 0)
            continue;
        b->values[i][b->nvalues[i]++] = value;
        mean += (value - mean) / (double)b->nvalues[i];
    }
    return mean;
}

static double test(const struct pw_compare_building *b)
{
    return b->out->has_steps ? pw_permutation_test(b->values[0], b->nvalues[0], b->values[1],
                                                   b->nvalues[1], b->out->steps.block)
                             : -1;
}

/* Adds a row with samples of each step. Returns it; NULL when one run has no samples, or both have
 * only zeros. */
static struct pw_compare_row *add_samples(struct pw_compare_building *b,
                                          enum pw_compare_group group, const struct subject *in_a,
                                          const struct subject *in_b, const char *name)
{
    const double mean_a = collect(b, 0, in_a), mean_b = collect(b, 1, in_b);
    if (!b->nvalues[0] || !b->nvalues[1] || (mean_a <= 0 && mean_b <= 0))
        return NULL;
    struct pw_compare_row *row = add_row(b, group);
    if (!row)
        return NULL;
    snprintf(row->name, sizeof(row->name), "%s", name);
    row->a = mean_a;
    row->b = mean_b;
    row->a_steps = b->nvalues[0];
    row->b_steps = b->nvalues[1];
    return row;
}

#define TRACE(field) offsetof(struct pw_row_c_step_trace, field)
#define PHASE(field) offsetof(struct pw_row_c_phase_trace, field)

static void add_means(struct pw_compare_building *b)
{
    static const struct {
        enum pw_compare_group group;
        const char *name;
        struct subject subject;
    } all[] = {
        {PW_COMPARE_TIME, "own work", {TRACE(own_ns), 0, -1}},
        {PW_COMPARE_TIME, "waiting for other ranks", {TRACE(wait_ns), 0, -1}},
        {PW_COMPARE_TIME, "exposed communication", {TRACE(comm_exposed_ns), 0, -1}},
        {PW_COMPARE_TIME, "waiting for data", {TRACE(data_wait_ns), 0, -1}},
        {PW_COMPARE_PHASE, "data", {PHASE(data_ns), 1, -1}},
        {PW_COMPARE_PHASE, "forward", {PHASE(forward_ns), 1, -1}},
        {PW_COMPARE_PHASE, "backward", {PHASE(backward_ns), 1, -1}},
        {PW_COMPARE_PHASE, "allreduce", {PHASE(allreduce_ns), 1, -1}},
        {PW_COMPARE_PHASE, "optimizer", {PHASE(optimizer_ns), 1, -1}},
        {PW_COMPARE_PHASE, "outside any phase", {PHASE(other_ns), 1, -1}},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct pw_compare_row *row =
            add_samples(b, all[i].group, &all[i].subject, &all[i].subject, all[i].name);
        if (row)
            row->p = test(b);
    }
}

/* Adds a row for each rank that both runs have; both tables are sorted by rank. */
static void add_ranks(struct pw_compare_building *b)
{
    const struct pw_cluster *x = b->runs[0], *y = b->runs[1];
    for (size_t i = 0, k = 0; i < x->nrank_rows && k < y->nrank_rows;) {
        if (x->ranks[i].rank == y->ranks[k].rank) {
            const struct subject in_a = {TRACE(own_ns), 0, (int64_t)i};
            const struct subject in_b = {TRACE(own_ns), 0, (int64_t)k};
            char name[128];
            name_rank(b, i, k, name, sizeof(name));
            struct pw_compare_row *row = add_samples(b, PW_COMPARE_RANK, &in_a, &in_b, name);
            if (row)
                row->rank = x->ranks[i].rank;
        }
        int behind = x->ranks[i].rank <= y->ranks[k].rank;
        k += y->ranks[k].rank <= x->ranks[i].rank;
        i += behind;
    }
}

static int64_t row_of_rank(const struct pw_cluster *c, int32_t rank)
{
    int64_t row = 0;
    while (c->ranks[row].rank != rank)
        row++;
    return row;
}

/* Sorts by group, then by change, largest first. */
static int largest_first(const void *x, const void *y)
{
    const struct pw_compare_row *a = x, *b = y;
    double change_a = fabs(a->b - a->a), change_b = fabs(b->b - b->a);
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (change_a != change_b)
        return change_a > change_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Tests the rows of ranks, which are the last rows so far. */
static void test_ranks(struct pw_compare_building *b)
{
    struct pw_comparison *c = b->out;
    size_t first = 0;
    while (first < c->nrows && c->rows[first].group != PW_COMPARE_RANK)
        first++;
    const size_t tested = c->nrows - first < RANKS_TESTED ? c->nrows - first : RANKS_TESTED;
    qsort(c->rows + first, c->nrows - first, sizeof(*c->rows), largest_first);
    for (size_t i = first; i < first + tested; i++) {
        for (int k = 0; k < 2; k++) {
            const struct subject own = {TRACE(own_ns), 0, row_of_rank(b->runs[k], c->rows[i].rank)};
            collect(b, k, &own);
        }
        c->rows[i].p = test(b);
    }
}

/* Mean transfer time of an operation and size class over all communicators of one size; -1: there
 * is none. */
static double mean_transfer(const struct pw_cluster *c, const struct pw_row_c_collective_stat *like)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++) {
        const struct pw_row_c_collective_stat *s = &c->collective_stats[i];
        if (s->op != like->op || s->source != like->source || s->bytes_max != like->bytes_max ||
            s->nranks != like->nranks || s->count <= 0 || s->transfer_mean_ns < 0)
            continue;
        sum += (double)s->transfer_mean_ns * (double)s->count;
        count += (double)s->count;
    }
    return count > 0 ? sum / count : -1;
}

static int is_first_alike(const struct pw_cluster *c, size_t at)
{
    const struct pw_row_c_collective_stat *s = c->collective_stats, *like = &s[at];
    for (size_t i = 0; i < at; i++)
        if (s[i].op == like->op && s[i].source == like->source &&
            s[i].bytes_max == like->bytes_max && s[i].nranks == like->nranks)
            return 0;
    return 1;
}

static void add_collectives(struct pw_compare_building *b)
{
    for (size_t i = 0; i < b->runs[0]->ncollective_stats && !b->error; i++) {
        const struct pw_row_c_collective_stat *like = &b->runs[0]->collective_stats[i];
        double in_a = mean_transfer(b->runs[0], like), in_b = mean_transfer(b->runs[1], like);
        if (in_a < 0 || in_b < 0 || !is_first_alike(b->runs[0], i))
            continue;
        struct pw_compare_row *row = add_row(b, PW_COMPARE_COLLECTIVE);
        if (!row)
            return;
        char most[32];
        pw_text_bytes(most, sizeof(most), like->bytes_max);
        snprintf(row->name, sizeof(row->name), "%s up to %s, %" PRId32 " ranks",
                 pw_enum_name(PW_F_OP, like->op), most, like->nranks);
        row->a = in_a;
        row->b = in_b;
    }
}

static double measured_cells(const struct pw_compare_building *b, int i)
{
    return (double)b->out->parts[i].nsteps * (double)b->runs[i]->nrank_rows;
}

static int by_name(const void *x, const void *y)
{
    const struct pw_row_c_operator *const *a = x, *const *b = y;
    int order = strncmp((*a)->name, (*b)->name, sizeof((*a)->name));
    return order ? order : strncmp((*a)->type, (*b)->type, sizeof((*a)->type));
}

/* Adds the operators that both runs have, by name and type. */
static void add_operators(struct pw_compare_building *b)
{
    const struct pw_cluster *x = b->runs[0], *y = b->runs[1];
    double cells[2] = {measured_cells(b, 0), measured_cells(b, 1)};
    const struct pw_row_c_operator **sorted = calloc(y->noperators + 1, sizeof(*sorted));
    if (!sorted) {
        b->error = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < y->noperators; i++)
        sorted[i] = &y->operators[i];
    qsort(sorted, y->noperators, sizeof(*sorted), by_name);
    for (size_t i = 0; i < x->noperators && cells[0] > 0 && cells[1] > 0; i++) {
        const struct pw_row_c_operator *one = &x->operators[i], **other;
        other = bsearch(&one, sorted, y->noperators, sizeof(*sorted), by_name);
        struct pw_compare_row *row =
            other && one->kind == PW_KIND_OPERATOR ? add_row(b, PW_COMPARE_OPERATOR) : NULL;
        if (!row)
            continue;
        snprintf(row->name, sizeof(row->name), "%.256s", one->name);
        row->a = (double)one->self_ns / cells[0];
        row->b = (double)(*other)->self_ns / cells[1];
    }
    free(sorted);
}

/* Adds all rows to b->out. Returns 0 or -ENOMEM. */
static int pw_compare_rows(struct pw_compare_building *b)
{
    add_run(b);
    add_outside(b);
    add_steps(b);
    const size_t fixed = b->out->nrows;
    add_means(b);
    add_ranks(b);
    test_ranks(b);
    add_collectives(b);
    add_operators(b);
    if (b->out->nrows > fixed)
        qsort(b->out->rows + fixed, b->out->nrows - fixed, sizeof(*b->out->rows), largest_first);
    return b->error;
}

/* ---- which differences are sure ---- */

/* Limits of p: for a test with steps as samples, and for a time that occurs once in a run
 * (docs/method.md). */
#define SURE_OF_STEPS 0.001
#define SURE_OF_ONE 0.01
#define LEAST_CHANGE 0.25 /* least difference of such times, as a share of the smaller one */
#define RELEVANT 0.01     /* share of the run */
#define TOO_MUCH 0.05     /* with a larger share of the run unexplained, there is no verdict */

static double at_most(double a, double b)
{
    return a < b ? a : b;
}

static void add(struct pw_comparison *c, enum pw_compare_place place, double ns, double p,
                int is_sure)
{
    c->differences[c->ndifferences++] = (struct pw_compare_difference){place, ns, p, is_sure};
}

/* Adds a difference of a time that occurs once in a run, when both times are known. */
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
    const int is_cut = c->ended[0][0] || c->ended[1][0];
    add_once(c, PW_COMPARE_BETWEEN, a->between * times, b->between);
    if (a->before >= 0 && b->before >= 0) {
        add_once(c, PW_COMPARE_BEFORE, a->before, b->before);
        if (!is_cut)
            add_once(c, PW_COMPARE_AFTER, a->after, b->after);
    } else if (!is_cut) {
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

/* The wall time of the first run if it had as many steps as the second: shares are relative to it.
 */
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

/* Sums the sure differences that are large enough to matter; the others become unsure. *unsure:
 * their sum. */
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

/* Fills `kind` and the members after it, from the rows, the parts and the steps. `unable` says why
 * the runs cannot be compared; "" when they can. */
static void judge(struct pw_comparison *c, const char *unable)
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

/* ---- the ranks whose time outside steps changed ---- */

#define EXPLAINS 0.5 /* a rank causes a wall-time difference: least share it explains */

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

/* A smaller p is significant. The limit is low because a comparison has some dozen rows. */
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
    else if (sum.silent_ranks)
        pw_sentence_add(said,
                        "communication of %" PRId64 " rank%s of the %s run was not recorded; ",
                        sum.silent_ranks, sum.silent_ranks == 1 ? "" : "s", which);
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

static void say_how(const struct pw_row_c_ending *row, struct pw_sentence *said)
{
    switch (row->how) {
    case PW_HOW_EXIT:
        pw_sentence_add(said, "with status %" PRId32, row->exit_code);
        break;
    case PW_HOW_SIGNAL:
        pw_sentence_add(said, "by signal %" PRId32, row->exit_signal);
        break;
    case PW_HOW_MEMORY:
        pw_sentence_add(said, "for lack of memory");
        break;
    case PW_HOW_ABORT:
        pw_sentence_add(said, "by MPI_Abort");
        break;
    case PW_HOW_EXCEPTION:
        pw_sentence_add(said, "by an exception");
        break;
    case PW_HOW_MPI_ERROR:
        pw_sentence_add(said, "by the MPI error %s", pw_enum_name(PW_F_MPI_ERROR, row->mpi_error));
        break;
    default:
        pw_sentence_add(said, "and it is not known how");
        break;
    }
}

/* "The second run did not end well: rank 1 ended first, by an exception."; "" when it did. */
static void say_ended(const struct pw_cluster *c, const char *which, char *out, size_t size)
{
    struct pw_sentence said = pw_sentence_on(out, size);
    const struct pw_row_c_ending *first = NULL;
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < c->nendings && c->snapshot <= 0; i++) {
        if (c->endings[i].ended != PW_ENDED_FIRST)
            continue;
        first = first ? first : &c->endings[i];
        n++;
    }
    if (!first)
        return;
    pw_sentence_add(&said, "The %s run did not end well: ", which);
    if (n == 1)
        pw_sentence_add(&said, "rank %" PRId32 " ended first, ", first->rank);
    else
        pw_sentence_add(&said, "%zu of its ranks ended first, rank %" PRId32 " ", n, first->rank);
    say_how(first, &said);
    pw_sentence_add(&said, ".");
}

static int is_partial(const struct pw_cluster *c)
{
    return 2 * missing_ranks(c) > c->nranks || c->snapshot > 0;
}

/* Writes why the run cannot be compared with another. Returns 1 when it wrote something. */
static int say_one(const struct pw_cluster *c, size_t nsteps, const char *which,
                   struct pw_sentence *said)
{
    const int64_t missing = missing_ranks(c);
    if (2 * missing > c->nranks)
        pw_sentence_add(said, "%" PRId64 " of %" PRId64 " ranks of the %s run left no usable file",
                        missing, c->nranks, which);
    else if (c->snapshot > 0)
        pw_sentence_add(said, "the %s run was still running", which);
    else if (!nsteps)
        pw_sentence_add(said, "the %s run has no measured steps", which);
    else if (c->steps_inferred > 1)
        pw_sentence_add(
            said, "the %s run has no steps, only slices, whose length depends on the run", which);
    else if (nsteps < PW_PERMUTATION_LEAST)
        pw_sentence_add(said, "the %s run has only %zu measured step%s", which, nsteps,
                        nsteps == 1 ? "" : "s");
    return said->used > 0;
}

/* 1 when the numbers of steps are about equal. Otherwise, the steps inferred in the two runs are
 * not the same iterations. */
static int is_like(size_t a, size_t b)
{
    return a > b ? 10 * b >= 9 * a : 10 * a >= 9 * b;
}

/* Writes why the runs cannot be compared; "" when they can. */
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
                        "the steps of one run are marked, those of the other inferred from calls");
    else if (b->runs[0]->steps_inferred > 0 && !is_like(parts[0].nsteps, parts[1].nsteps))
        pw_sentence_add(&said, "different steps were inferred from the calls: %zu, then %zu",
                        parts[0].nsteps, parts[1].nsteps);
}

/* The rank with most own work in a step, if it has at least `more_ns` more than the mean of the
 * others; else -1. */
static int32_t whose_work(const struct pw_cluster *run, size_t step, double more_ns)
{
    double most = -1, sum = 0;
    size_t row = 0, known = 0;
    for (size_t r = 0; pw_cells_is_known(&run->step_trace) && r < run->nrank_rows; r++) {
        const double own = (double)pw_cells_value(
            &run->step_trace, offsetof(struct pw_row_c_step_trace, own_ns), step, r);
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

/* Finds the slowest of the few extreme steps, and the rank whose work explains half of its
 * excess. */
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

/* Finds the parts that are known in both runs. Returns 1 when there are any. */
static int find_parts_known(struct pw_compare_building *b)
{
    struct pw_parts_known known[2];
    for (int i = 0; i < 2; i++)
        known[i] =
            pw_parts_known(b->runs[i]->part_trace, b->runs[i]->nrank_rows, b->runs[i]->init_source);
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
            const struct pw_run_steps runs[2] = {{b->walls[0], c->parts[0].nsteps},
                                                 {b->walls[1], c->parts[1].nsteps}};
            pw_steppair(runs, scratch, &c->steps);
            find_few(b);
        }
        err = pw_compare_rows(b);
    }
    if (!err)
        judge(c, unable);
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
    say_ended(a, "first", made->ended[0], sizeof(made->ended[0]));
    say_ended(b, "second", made->ended[1], sizeof(made->ended[1]));
    struct pw_compare_building building = {.runs = {a, b}, .out = made};
    int err = build(&building);
    if (err) {
        pw_comparison_destroy(made);
        return err;
    }
    made->is_partial = is_partial(a) || is_partial(b);
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
