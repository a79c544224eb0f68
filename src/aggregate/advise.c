/* Reads the tables that the merge has written, and writes /advice; see advise.h. */
#include "aggregate/advise.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/figures/figures.h"
#include "core/h5/clusterload.h"

/* Makes the rows of advice about a cluster, malloc'ed. Returns 0 or -ENOMEM. */
static int make_rows(const struct pw_cluster *cluster, struct pw_row_c_advice **rows, size_t *n)
{
    struct pw_figures *figures = NULL;
    struct pw_advice *advice = malloc(PW_ADVICE_MAX * sizeof(*advice));
    *rows = calloc(PW_ADVICE_MAX, sizeof(**rows));
    if (advice && *rows && !pw_figures_create(cluster, &figures)) {
        const struct pw_advice_input input = pw_figures_advice(figures);
        *n = pw_advice_collect(&input, advice);
        for (size_t i = 0; i < *n; i++)
            (*rows)[i] = pw_advice_row(&input, &advice[i]);
    }
    const int err = figures ? 0 : -ENOMEM;
    pw_figures_destroy(figures);
    free(advice);
    return err;
}

/* Loads what has been written, on process 0. Returns 0 or -errno. */
static int load(const struct pw_clusterfile *file, struct pw_cluster **out)
{
    return H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0 ? -EIO : pw_cluster_load(file->part, out);
}

void pw_advise_write(struct pw_clusterfile *file)
{
    struct pw_cluster *cluster = NULL;
    struct pw_row_c_advice *rows = NULL;
    size_t n = 0;
    int err = file->process == 0 && !file->error ? load(file, &cluster) : 0;
    if (cluster)
        err = make_rows(cluster, &rows, &n);
    file->error = file->error ? file->error : err;
    pw_cluster_destroy(cluster);
    pw_clusterfile_write_root(file, PW_TABLE_c_advice, n, rows);
    free(rows);
}
