/* The rows of a comparison; see compare.h. */
#include "analysis/report/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/unrecorded.h"
#include "analysis/significance.h"
#include "analysis/statistics.h"
#include "core/sentence.h"
#include "core/text.h"

/* Such a p is called significant: one comparison has some dozen rows. */
#define SIGNIFICANT 0.001

/* A series of values per step, and its sorted copy. */
struct series {
    double *values, *sorted;
    size_t n;
};

struct building {
    const struct pw_cluster *runs[2];
    struct pw_comparison *out;
    struct series series[2];
    size_t capacity;
    int error;
};

/* What a row's samples are of. */
struct subject {
    size_t offset; /* of an int64 in a cell; SIZE_MAX: the step's duration */
    int is_phase;
    int64_t rank; /* row of /ranks of the first run; -1: mean over ranks */
};

static struct pw_compare_row *add_row(struct building *b, enum pw_compare_group group)
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
    *row = (struct pw_compare_row){.group = group, .a = -1, .b = -1, .p = -1};
    return row;
}

static int64_t cell_value(const struct pw_cluster *c, const struct subject *s, size_t step,
                          size_t r)
{
    const void *cell = s->is_phase ? (const void *)&c->phase_trace[step * c->nrank_rows + r]
                                   : (const void *)&c->step_trace[step * c->nrank_rows + r];
    int64_t value;
    memcpy(&value, (const char *)cell + s->offset, sizeof(value));
    return value;
}

/* Of one step; -1: not known. */
static double sample(const struct pw_cluster *c, const struct subject *s, size_t step)
{
    double sum = 0;
    size_t known = 0, from = s->rank < 0 ? 0 : (size_t)s->rank;
    size_t to = s->rank < 0 ? c->nrank_rows : from + 1;
    if (s->offset == SIZE_MAX)
        return (double)c->steps[step].duration_ns;
    if (s->is_phase ? !c->phase_trace : !c->step_trace)
        return -1;
    for (size_t r = from; r < to; r++) {
        int64_t value = cell_value(c, s, step, r);
        sum += value < 0 ? 0 : (double)value;
        known += value >= 0;
    }
    return known ? sum / (double)known : -1;
}

static void collect(const struct pw_cluster *c, const struct subject *s, struct series *out)
{
    out->n = 0;
    for (size_t step = 0; step < c->nstep_rows; step++) {
        double value = c->steps[step].recorded == PW_RECORDED_ACTIVE ? sample(c, s, step) : -1;
        if (value >= 0)
            out->values[out->n++] = value;
    }
    memcpy(out->sorted, out->values, out->n * sizeof(*out->values));
    pw_sort_f64(out->sorted, out->n);
}

static double median(const struct series *s)
{
    return (s->sorted[(s->n - 1) / 2] + s->sorted[s->n / 2]) / 2;
}

/* A row of samples per step, unless one of the runs has none, or both have nothing but 0. */
static void add_samples(struct building *b, enum pw_compare_group group, const struct subject *in_a,
                        const struct subject *in_b, const char *name)
{
    struct series *sa = &b->series[0], *sb = &b->series[1];
    collect(b->runs[0], in_a, sa);
    collect(b->runs[1], in_b, sb);
    if (!sa->n || !sb->n || (sa->sorted[sa->n - 1] <= 0 && sb->sorted[sb->n - 1] <= 0))
        return;
    struct pw_compare_row *row = add_row(b, group);
    if (!row)
        return;
    double r = (pw_autocorrelation(sa->values, sa->n) + pw_autocorrelation(sb->values, sb->n)) / 2;
    snprintf(row->name, sizeof(row->name), "%s", name);
    row->a = median(sa);
    row->b = median(sb);
    row->a_steps = sa->n;
    row->b_steps = sb->n;
    row->p = pw_mann_whitney(sa->sorted, sa->n, sb->sorted, sb->n, r);
}

#define TRACE(field) offsetof(struct pw_row_c_step_trace, field)
#define PHASE(field) offsetof(struct pw_row_c_phase_trace, field)

static void add_steps(struct building *b)
{
    static const struct {
        enum pw_compare_group group;
        const char *name;
        struct subject subject;
    } all[] = {
        {PW_COMPARE_STEP, "step", {SIZE_MAX, 0, -1}},
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
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        add_samples(b, all[i].group, &all[i].subject, &all[i].subject, all[i].name);
}

/* Ranks are in order of their numbers in both. */
static void add_ranks(struct building *b)
{
    const struct pw_cluster *x = b->runs[0], *y = b->runs[1];
    for (size_t i = 0, k = 0; i < x->nrank_rows && k < y->nrank_rows;) {
        if (x->ranks[i].rank == y->ranks[k].rank) {
            const struct subject in_a = {TRACE(own_ns), 0, (int64_t)i};
            const struct subject in_b = {TRACE(own_ns), 0, (int64_t)k};
            char name[128];
            snprintf(name, sizeof(name), "rank %" PRId32 " (%.48s%s%.48s)", x->ranks[i].rank,
                     x->ranks[i].hostname,
                     strcmp(x->ranks[i].hostname, y->ranks[k].hostname) ? ", then " : "",
                     strcmp(x->ranks[i].hostname, y->ranks[k].hostname) ? y->ranks[k].hostname
                                                                        : "");
            add_samples(b, PW_COMPARE_RANK, &in_a, &in_b, name);
        }
        int behind = x->ranks[i].rank <= y->ranks[k].rank;
        k += y->ranks[k].rank <= x->ranks[i].rank;
        i += behind;
    }
}

/* Mean transfer of an operation and size over all communicators of a size; -1: none. */
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

static void add_collectives(struct building *b)
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

static int64_t measured_cells(const struct pw_cluster *c)
{
    int64_t steps = 0;
    for (size_t i = 0; i < c->nstep_rows; i++)
        steps += c->steps[i].recorded == PW_RECORDED_ACTIVE;
    return steps * (int64_t)c->nrank_rows;
}

static int by_name(const void *x, const void *y)
{
    const struct pw_row_c_operator *const *a = x, *const *b = y;
    int order = strncmp((*a)->name, (*b)->name, sizeof((*a)->name));
    return order ? order : strncmp((*a)->type, (*b)->type, sizeof((*a)->type));
}

/* Operators of both runs, by name and type. */
static void add_operators(struct building *b)
{
    const struct pw_cluster *x = b->runs[0], *y = b->runs[1];
    double cells[2] = {(double)measured_cells(x), (double)measured_cells(y)};
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

static int largest_change_first(const void *x, const void *y)
{
    const struct pw_compare_row *a = x, *b = y;
    double change_a = fabs(a->b - a->a), change_b = fabs(b->b - b->a);
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (change_a != change_b)
        return change_a > change_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void say_unrecorded(const struct pw_cluster *c, const char *which, struct pw_sentence *said)
{
    struct pw_unrecorded_sum sum;
    pw_unrecorded_sum(c, &sum);
    if (sum.ranks)
        pw_sentence_add(said, "MPI calls of %" PRId64 " rank%s of the %s run were not recorded; ",
                        sum.ranks, sum.ranks == 1 ? "" : "s", which);
    else if (sum.is_silent)
        pw_sentence_add(said, "no communication of the %s run was recorded; ", which);
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
    if (a->steps_inferred != b->steps_inferred)
        pw_sentence_add(&said, "the steps of one are inferred; ");
    say_unrecorded(a, "first", &said);
    say_unrecorded(b, "second", &said);
    if (said.used >= 2)
        out[said.used - 2] = '\0';
}

static int build(struct building *b)
{
    size_t steps = 1;
    for (int i = 0; i < 2; i++)
        steps = b->runs[i]->nstep_rows > steps ? b->runs[i]->nstep_rows : steps;
    for (int i = 0; i < 2; i++) {
        b->series[i].values = calloc(steps, sizeof(double));
        b->series[i].sorted = calloc(steps, sizeof(double));
        if (!b->series[i].values || !b->series[i].sorted)
            return -ENOMEM;
    }
    add_steps(b);
    add_ranks(b);
    add_collectives(b);
    add_operators(b);
    return b->error;
}

int pw_compare(const struct pw_cluster *a, const struct pw_cluster *b, double threshold,
               struct pw_comparison **out, char *problem, size_t size)
{
    struct pw_comparison *made = calloc(1, sizeof(*made));
    struct building building = {.runs = {a, b}, .out = made};
    if (!made)
        return -ENOMEM;
    made->threshold = threshold;
    int err = build(&building);
    for (int i = 0; i < 2; i++) {
        free(building.series[i].values);
        free(building.series[i].sorted);
    }
    if (!err && (!made->nrows || made->rows[0].group != PW_COMPARE_STEP)) {
        snprintf(problem, size, "the %s run has no measured steps to compare",
                 measured_cells(a) > 0 ? "second" : "first");
        err = -ENODATA;
    }
    if (err) {
        pw_comparison_destroy(made);
        return err;
    }
    qsort(made->rows, made->nrows, sizeof(*made->rows), largest_change_first);
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

int pw_compare_is_slower(const struct pw_comparison *comparison)
{
    const struct pw_compare_row *step = &comparison->rows[0];
    return pw_compare_is_significant(step) && pw_compare_change(step) > comparison->threshold;
}
