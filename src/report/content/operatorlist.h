/* Operators as reports list them: grouped, searched and sorted, and the ranks that are slow in
 * them. Used by text, JSON and CSV, and through JSON by the HTML report. Prints nothing. */
#ifndef PW_REPORT_CONTENT_OPERATORLIST_H
#define PW_REPORT_CONTENT_OPERATORLIST_H

#include "analysis/slowranks.h"
#include "report/figures/figures.h"

/* Bytes of a row's label with the NUL. A call path that is longer loses its outer part. */
enum { PW_OPLIST_LABEL = 400 };

/* Figures that all tables have, `calls` to `peak_alloc_bytes`, in one order. */
enum { PW_OPROW_FIGURES = 12 };

/* One line. -1: not known, but for bytes, which may be negative. */
struct pw_oprow {
    int32_t op;                       /* row of /operators, -1: of several */
    int32_t index;                    /* row of the table that is listed; of ranks, the rank */
    const char *name, *type, *shapes; /* may lack their NUL: at most 256, 64 and 256 bytes; or "" */
    int64_t calls, total_ns, self_ns, self_wait_ns, min_ns, mean_ns, max_ns, p50_ns, p95_ns,
        alloc_bytes, self_alloc_bytes, peak_alloc_bytes;
    double share, imbalance; /* of all self time; largest rank over mean */
    int32_t max_rank;
};

/* All self time, for shares; names that are operators, not frames. */
struct pw_optotals {
    int64_t names, calls, self_ns, self_wait_ns, ranks;
    int has_memory;
};

struct pw_oplist {
    struct pw_oprow *rows;
    size_t n;
};

void pw_operators_totals(const struct pw_cluster *cluster, struct pw_optotals *out);

/* `group`: name (NULL too), shapes, stack, type or rank; `search`: only rows whose label, type or
 * shapes have this text, in either case, NULL or "" for all; `sort`: self_total (NULL too), total,
 * calls, mean, p95, max, memory, peak or imbalance, most first. 0 or -ENOMEM; the caller frees
 * out->rows.
 */
int pw_operators_list(const struct pw_cluster *cluster, const char *group, const char *search,
                      const char *sort, struct pw_oplist *out);

/* What stands in the first column, safe to show. Returns `out`. */
const char *pw_operators_label(const struct pw_cluster *cluster, const char *group,
                               const struct pw_oprow *row, char *out, size_t size);

/* The call path of a row of /operator_stacks, outermost first, with `between` the names; what does
 * not fit is left out at the outer end. Returns `out`. */
const char *pw_operators_path(const struct pw_cluster *cluster, int32_t stack, const char *between,
                              char *out, size_t size);

/* A rank that is slow in an operator; most excess first. */
struct pw_slow_operator {
    int32_t op, rank;
    struct pw_oprank found;
};

/* Looks at the operators with most self time. *slow is malloc'ed. 0 or -ENOMEM. */
int pw_operators_slow(const struct pw_cluster *cluster, struct pw_slow_operator **slow, size_t *n);

#endif
