/* Lists of operators for the reports: grouped, searched and sorted; and the ranks that are slow in
 * operators. Called by the text, JSON and CSV reports, and through JSON by the HTML report. Prints
 * nothing. */
#ifndef PW_REPORT_CONTENT_OPERATORLIST_H
#define PW_REPORT_CONTENT_OPERATORLIST_H

#include "analysis/figures/figures.h"
#include "analysis/slowranks.h"

/* Bytes of a row's label with the NUL. A longer call path is cut at its outer end. */
enum { PW_OPLIST_LABEL = 400 };

/* Number of figures that all tables share, `calls` to `peak_alloc_bytes`, in the same order. */
enum { PW_OPROW_FIGURES = 12 };

/* One line of a list. -1: not known, except bytes, which may be negative. */
struct pw_oprow {
    int32_t op;    /* row of /operators; -1: several operators */
    int32_t index; /* row of the listed table; when grouped by rank, the rank */
    /* at most 256, 64 and 256 bytes, perhaps without a NUL; or "" */
    const char *name, *type, *shapes;
    int64_t calls, total_ns, self_ns, self_wait_ns, min_ns, mean_ns, max_ns, p50_ns, p95_ns,
        alloc_bytes, self_alloc_bytes, peak_alloc_bytes;
    double share, imbalance; /* share of all self time; largest rank / mean */
    int32_t max_rank;
};

/* Self time of all operators, and the number of operators without frames of functions. */
struct pw_optotals {
    int64_t names, calls, self_ns, self_wait_ns, ranks;
    int has_memory;
};

struct pw_oplist {
    struct pw_oprow *rows;
    size_t n;
};

void pw_operators_totals(const struct pw_cluster *cluster, struct pw_optotals *out);

/* Lists operators. `group`: name (or NULL), shapes, stack, type or rank. `search`: only rows whose
 * label, type or shapes contain this text, ignoring case; NULL or "": all. `sort`: self_total (or
 * NULL), total, calls, mean, p95, max, memory, peak or imbalance, largest first. Returns 0 or
 * -ENOMEM; the caller frees out->rows. */
int pw_operators_list(const struct pw_cluster *cluster, const char *group, const char *search,
                      const char *sort, struct pw_oplist *out);

/* Writes the text of the first column, safe to print. Returns `out`. */
const char *pw_operators_label(const struct pw_cluster *cluster, const char *group,
                               const struct pw_oprow *row, char *out, size_t size);

/* Writes the call path of a row of /operator_stacks, outermost first, with `between` between the
 * names. A path that is too long is cut at its outer end. Returns `out`. */
const char *pw_operators_path(const struct pw_cluster *cluster, int32_t stack, const char *between,
                              char *out, size_t size);

/* A rank that is slow in an operator. */
struct pw_slow_operator {
    int32_t op, rank;
    struct pw_oprank found;
};

/* Finds ranks that are slow in the operators with most self time, sorted by excess, largest first.
 * *slow is malloc'ed. Returns 0 or -ENOMEM. */
int pw_operators_slow(const struct pw_cluster *cluster, struct pw_slow_operator **slow, size_t *n);

#endif
