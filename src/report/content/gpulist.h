/* The GPUs of the job, each once even when several ranks used it: used by text and JSON, and
 * through JSON by the HTML report. Joins rows of the cluster; prints nothing. */
#ifndef PW_REPORT_CONTENT_GPULIST_H
#define PW_REPORT_CONTENT_GPULIST_H

#include "analysis/gpulimits.h"
#include "report/figures/figures.h"

/* One GPU: activity is the sum over the ranks that used it; samples are of the GPU itself. */
struct pw_gpulist_row {
    struct pw_row_c_gpu_device all; /* `rank`: the first that used it; `span_ns`: the longest */
    const char *hostname;           /* may lack its NUL: 64 bytes; "" not known */
    char ranks[64];                 /* "0, 1" */
    size_t nranks;
    struct pw_roof roof;
};

struct pw_gpulist {
    struct pw_gpulist_row *rows; /* by host, and by the first rank that used it */
    size_t n, nhosts;
    int is_shared, is_sampled, is_measured; /* any of them: by ranks, by NVML, by GPM */
};

/* 0 or -ENOMEM. */
int pw_gpulist_make(const struct pw_figures *figures, struct pw_gpulist *out);
void pw_gpulist_fini(struct pw_gpulist *list);

#endif
