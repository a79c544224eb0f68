/* Makes the rows from the tables of operators, with one function for each grouping, then searches
 * and sorts them; see operatorlist.h. */
#include "report/content/operatorlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/sort.h"
#include "report/writing/safenames.h"

static int is_operator(const struct pw_row_c_operator *row)
{
    return row->kind != PW_KIND_FUNCTION;
}

void pw_operators_totals(const struct pw_cluster *c, struct pw_optotals *out)
{
    *out = (struct pw_optotals){0};
    for (size_t i = 0; i < c->noperators; i++) {
        const struct pw_row_c_operator *row = &c->operators[i];
        if (!is_operator(row))
            continue;
        out->names++;
        out->calls = pw_sum(out->calls, row->calls);
        out->self_ns = pw_sum(out->self_ns, row->self_ns);
        out->self_wait_ns = pw_sum(out->self_wait_ns, row->self_wait_ns);
        out->has_memory |= row->alloc_bytes || row->self_alloc_bytes || row->peak_alloc_bytes;
    }
    for (size_t i = 0; i < c->noperator_ranks; i++)
        out->ranks += c->operator_ranks[i].operator_row == -1;
}

/* Copies the figures that all tables of operators share: they begin at `calls`, and have the same
 * order. */
static void take_figures(struct pw_oprow *row, const int64_t *calls)
{
    memcpy(&row->calls, calls, PW_OPROW_FIGURES * sizeof(*calls));
}

static double share_of(const struct pw_optotals *totals, int64_t self_ns)
{
    return totals->self_ns > 0 ? (double)self_ns / (double)totals->self_ns : -1;
}

static struct pw_oprow row_of_op(const struct pw_cluster *c, int32_t op)
{
    const struct pw_row_c_operator *from = &c->operators[op];
    struct pw_oprow row = {
        .op = op,
        .index = op,
        .name = from->name,
        .type = from->type,
        .shapes = "",
        .share = from->share,
        .imbalance = -1,
        .max_rank = -1,
    };
    return row;
}

static size_t list_names(const struct pw_cluster *c, struct pw_oprow *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < c->noperators; i++) {
        if (!is_operator(&c->operators[i]))
            continue;
        rows[n] = row_of_op(c, (int32_t)i);
        rows[n].imbalance = c->operators[i].imbalance;
        rows[n].max_rank = c->operators[i].max_rank;
        take_figures(&rows[n++], &c->operators[i].calls);
    }
    return n;
}

static size_t list_types(const struct pw_cluster *c, struct pw_oprow *rows)
{
    for (size_t i = 0; i < c->noperator_types; i++) {
        const struct pw_row_c_operator_type *from = &c->operator_types[i];
        rows[i] = (struct pw_oprow){.op = -1,
                                    .index = (int32_t)i,
                                    .name = from->type,
                                    .type = from->type,
                                    .shapes = "",
                                    .share = from->share,
                                    .imbalance = -1,
                                    .max_rank = -1};
        take_figures(&rows[i], &from->calls);
    }
    return c->noperator_types;
}

/* Adds a row for the calls of each operator that gave no shapes: its sums minus those of its rows
 * with shapes. */
static void list_rest(const struct pw_cluster *c, const struct pw_optotals *totals,
                      const struct pw_oprow *known, struct pw_oprow *rows, size_t *n)
{
    for (size_t i = 0; i < c->noperators; i++) {
        const struct pw_row_c_operator *from = &c->operators[i];
        if (!is_operator(from) || known[i].calls >= from->calls)
            continue;
        struct pw_oprow *row = &rows[(*n)++];
        *row = row_of_op(c, (int32_t)i);
        take_figures(row, &from->calls);
        if (!known[i].calls)
            continue;
        row->calls = pw_difference(row->calls, known[i].calls);
        row->total_ns = pw_difference(row->total_ns, known[i].total_ns);
        row->self_ns = pw_difference(row->self_ns, known[i].self_ns);
        row->self_wait_ns = pw_difference(row->self_wait_ns, known[i].self_wait_ns);
        row->alloc_bytes = pw_difference(row->alloc_bytes, known[i].alloc_bytes);
        row->self_alloc_bytes = pw_difference(row->self_alloc_bytes, known[i].self_alloc_bytes);
        row->mean_ns = row->total_ns / row->calls;
        row->min_ns = row->max_ns = row->p50_ns = row->p95_ns = row->peak_alloc_bytes = -1;
        row->share = share_of(totals, row->self_ns);
    }
}

static size_t list_shapes(const struct pw_cluster *c, const struct pw_optotals *totals,
                          struct pw_oprow *rows)
{
    size_t n = 0;
    struct pw_oprow *known = calloc(c->noperators + 1, sizeof(*known));
    for (size_t i = 0; known && i < c->noperator_shapes; i++) {
        const struct pw_row_c_operator_shape *from = &c->operator_shapes[i];
        struct pw_oprow *row = &rows[n], *sum = &known[from->operator_row];
        if (!is_operator(&c->operators[from->operator_row]))
            continue;
        *row = row_of_op(c, from->operator_row);
        row->index = (int32_t)i;
        row->shapes = from->shapes;
        take_figures(row, &from->calls);
        row->share = share_of(totals, row->self_ns);
        sum->calls = pw_sum(sum->calls, row->calls);
        sum->total_ns = pw_sum(sum->total_ns, row->total_ns);
        sum->self_ns = pw_sum(sum->self_ns, row->self_ns);
        sum->self_wait_ns = pw_sum(sum->self_wait_ns, row->self_wait_ns);
        sum->alloc_bytes = pw_sum(sum->alloc_bytes, row->alloc_bytes);
        sum->self_alloc_bytes = pw_sum(sum->self_alloc_bytes, row->self_alloc_bytes);
        n++;
    }
    if (known)
        list_rest(c, totals, known, rows, &n);
    free(known);
    return n;
}

static size_t list_stacks(const struct pw_cluster *c, const struct pw_optotals *totals,
                          struct pw_oprow *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < c->noperator_stacks; i++) {
        const struct pw_row_c_operator_stack *from = &c->operator_stacks[i];
        if (!is_operator(&c->operators[from->operator_row]))
            continue;
        rows[n] = row_of_op(c, from->operator_row);
        rows[n].index = (int32_t)i;
        take_figures(&rows[n], &from->calls);
        rows[n].share = share_of(totals, rows[n].self_ns);
        n++;
    }
    return n;
}

static size_t list_ranks(const struct pw_cluster *c, const struct pw_optotals *totals,
                         struct pw_oprow *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < c->noperator_ranks; i++) {
        const struct pw_row_c_operator_rank *from = &c->operator_ranks[i];
        if (from->operator_row != -1)
            continue;
        rows[n++] = (struct pw_oprow){
            .op = -1,
            .index = from->rank,
            .name = "",
            .type = "",
            .shapes = "",
            .calls = from->calls,
            .total_ns = from->total_ns,
            .self_ns = from->self_ns,
            .self_wait_ns = from->self_wait_ns,
            .min_ns = -1,
            .mean_ns = from->calls > 0 ? from->total_ns / from->calls : -1,
            .max_ns = -1,
            .p50_ns = -1,
            .p95_ns = -1,
            .peak_alloc_bytes = -1,
            .share = share_of(totals, from->self_ns),
            .imbalance = -1,
            .max_rank = -1,
        };
    }
    return n;
}

static int holds(const char *text, size_t length, const char *wanted)
{
    size_t n = strlen(wanted);
    length = strnlen(text, length);
    for (size_t at = 0; at + n <= length; at++)
        if (strncasecmp(text + at, wanted, n) == 0)
            return 1;
    return 0;
}

static int is_found(const struct pw_cluster *c, const char *group, const struct pw_oprow *row,
                    const char *search)
{
    char label[PW_OPLIST_LABEL];
    return holds(pw_operators_label(c, group, row, label, sizeof(label)), sizeof(label), search) ||
           holds(row->type, sizeof(c->operators->type), search) ||
           holds(row->shapes, sizeof(c->operator_shapes->shapes), search);
}

static double key_of(const struct pw_oprow *row, const char *sort)
{
    const struct {
        const char *name;
        double value;
    } keys[] = {
        {"total", (double)row->total_ns},
        {"calls", (double)row->calls},
        {"mean", (double)row->mean_ns},
        {"p95", (double)row->p95_ns},
        {"max", (double)row->max_ns},
        {"memory", (double)row->self_alloc_bytes},
        {"peak", (double)row->peak_alloc_bytes},
        {"imbalance", row->imbalance},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(keys[i].name, sort) == 0)
            return keys[i].value;
    return (double)row->self_ns;
}

/* NaN sorts last. */
static int by_key(const void *a, const void *b, void *sort)
{
    const struct pw_oprow *x = a, *y = b;
    double key_x = key_of(x, sort), key_y = key_of(y, sort);
    if (key_x != key_x || key_y != key_y)
        return (key_x != key_x) - (key_y != key_y);
    if (key_x != key_y)
        return key_x > key_y ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int is_word(const char *word, const char *given, const char *usual)
{
    return strcmp(given && *given ? given : usual, word) == 0;
}

int pw_operators_list(const struct pw_cluster *c, const char *group, const char *search,
                      const char *sort, struct pw_oplist *out)
{
    struct pw_optotals totals;
    size_t most = c->noperators + c->noperator_types + c->noperator_shapes + c->noperator_stacks +
                  c->noperator_ranks;
    char key[16];
    size_t n = 0, kept = 0;
    struct pw_oprow *rows = calloc(most + 1, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    pw_operators_totals(c, &totals);
    if (is_word("name", group, "name"))
        n = list_names(c, rows);
    else if (is_word("type", group, "name"))
        n = list_types(c, rows);
    else if (is_word("shapes", group, "name"))
        n = list_shapes(c, &totals, rows);
    else if (is_word("stack", group, "name"))
        n = list_stacks(c, &totals, rows);
    else if (is_word("rank", group, "name"))
        n = list_ranks(c, &totals, rows);
    for (size_t i = 0; i < n; i++)
        if (!search || !*search || is_found(c, group, &rows[i], search))
            rows[kept++] = rows[i];
    snprintf(key, sizeof(key), "%s", sort ? sort : "");
    if (kept > 1)
        qsort_r(rows, kept, sizeof(*rows), by_key, key);
    out->rows = rows;
    out->n = kept;
    return 0;
}

static const char *name_of(char *out, size_t size, const char *name, size_t length)
{
    pw_names_printable(out, size, name, length);
    if (!out[0])
        snprintf(out, size, "(no name)");
    return out;
}

const char *pw_operators_path(const struct pw_cluster *c, int32_t stack, const char *between,
                              char *out, size_t size)
{
    size_t at = size - 1, gap = strlen(between);
    out[at] = '\0';
    for (int32_t row = stack; row >= 0; row = c->operator_stacks[row].parent) {
        const struct pw_row_c_operator *op = &c->operators[c->operator_stacks[row].operator_row];
        char name[sizeof(op->name)];
        size_t length = strlen(name_of(name, sizeof(name), op->name, sizeof(op->name)));
        if (length + gap > at)
            break;
        if (row != stack) {
            at -= gap;
            memcpy(out + at, between, gap);
        }
        at -= length;
        memcpy(out + at, name, length);
    }
    memmove(out, out + at, size - at);
    return out;
}

const char *pw_operators_label(const struct pw_cluster *c, const char *group,
                               const struct pw_oprow *row, char *out, size_t size)
{
    if (is_word("rank", group, "name"))
        snprintf(out, size, "rank %d", (int)row->index);
    else if (is_word("stack", group, "name"))
        pw_operators_path(c, row->index, " > ", out, size);
    else
        name_of(out, size, row->name,
                row->op < 0 ? sizeof(c->operators->type) : sizeof(c->operators->name));
    return out;
}

/* The ranks that have operators; from the rows of all operators together. */
struct ranks {
    int32_t *rank;
    int64_t *own_ns, *all_ns, *scratch;
    size_t n;
};

static size_t index_of(const struct ranks *ranks, int32_t rank)
{
    size_t low = 0, high = ranks->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranks->rank[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ranks->n && ranks->rank[low] == rank ? low : ranks->n;
}

static int64_t own_of(const struct pw_row_c_operator_rank *row)
{
    int64_t own =
        row->self_ns >= 0 && row->self_wait_ns >= 0 ? row->self_ns - row->self_wait_ns : 0;
    return own > 0 ? own : 0;
}

static int find_ranks(const struct pw_cluster *c, struct ranks *out)
{
    size_t room = c->noperator_ranks + 1;
    *out = (struct ranks){malloc(room * sizeof(*out->rank)), malloc(room * sizeof(int64_t)),
                          malloc(room * sizeof(int64_t)), malloc(room * sizeof(int64_t)), 0};
    if (!out->rank || !out->own_ns || !out->all_ns || !out->scratch)
        return -ENOMEM;
    for (size_t i = 0; i < c->noperator_ranks; i++) {
        const struct pw_row_c_operator_rank *row = &c->operator_ranks[i];
        /* Rows are sorted by rank; in a damaged file, rows that are not are ignored. */
        if (row->operator_row != -1 || (out->n && row->rank <= out->rank[out->n - 1]))
            continue;
        out->rank[out->n] = row->rank;
        out->all_ns[out->n++] = own_of(row);
    }
    return 0;
}

/* Finds the ranks that are slow in one operator, which has the rows [first, end). Returns 1 when
 * there is one. */
static int find_slow(const struct pw_cluster *c, struct ranks *ranks, size_t first, size_t end,
                     struct pw_slow_operator *out)
{
    for (size_t r = 0; r < ranks->n; r++)
        ranks->own_ns[r] = 0;
    for (size_t i = first; i < end; i++) {
        size_t r = index_of(ranks, c->operator_ranks[i].rank);
        if (r < ranks->n)
            ranks->own_ns[r] = own_of(&c->operator_ranks[i]);
    }
    size_t worst = 0;
    for (size_t r = 1; r < ranks->n; r++)
        worst = ranks->own_ns[r] > ranks->own_ns[worst] ? r : worst;
    int64_t least = ranks->n ? ranks->all_ns[worst] / 20 : 0;
    out->op = c->operator_ranks[first].operator_row;
    if (!pw_oprank_find(ranks->own_ns, ranks->n, least, ranks->scratch, &out->found))
        return 0;
    out->rank = ranks->rank[out->found.rank];
    return 1;
}

static int by_excess(const void *a, const void *b)
{
    const struct pw_slow_operator *x = a, *y = b;
    int64_t excess_x = x->found.own_ns - x->found.others_ns;
    int64_t excess_y = y->found.own_ns - y->found.others_ns;
    if (excess_x != excess_y)
        return excess_x > excess_y ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

int pw_operators_slow(const struct pw_cluster *c, struct pw_slow_operator **slow, size_t *n)
{
    struct ranks ranks;
    struct pw_slow_operator *found = calloc(c->noperator_ranks + 1, sizeof(*found));
    int err = find_ranks(c, &ranks);
    size_t count = 0;
    err = found ? err : -ENOMEM;
    for (size_t at = 0, end; at < c->noperator_ranks && !err; at = end) {
        int32_t op = c->operator_ranks[at].operator_row;
        for (end = at + 1; end < c->noperator_ranks && c->operator_ranks[end].operator_row == op;)
            end++;
        if (op >= 0)
            count += (size_t)find_slow(c, &ranks, at, end, &found[count]);
    }
    free(ranks.rank);
    free(ranks.own_ns);
    free(ranks.all_ns);
    free(ranks.scratch);
    if (err) {
        free(found);
        return err;
    }
    pw_sort(found, count, sizeof(*found), by_excess);
    *slow = found;
    *n = count;
    return 0;
}
