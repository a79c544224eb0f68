/* Lists the GPUs of the job, each once, also when several ranks used it. Called by the text and
 * JSON reports, and through JSON by the HTML report. Joins rows of the cluster; prints nothing. */
#ifndef PW_REPORT_CONTENT_GPULIST_H
#define PW_REPORT_CONTENT_GPULIST_H

#include "analysis/figures/figures.h"
#include "analysis/gpu.h"

/* One GPU: activity is the sum over the ranks that used it; samples are of the GPU itself. */
struct pw_gpulist_row {
    /* `rank`: the first rank that used it; `span_ns`: the longest of its ranks */
    struct pw_row_c_gpu_device all;
    const char *hostname; /* 64 bytes, perhaps without a NUL; "": not known */
    char ranks[64];       /* "0, 1" */
    size_t nranks;
    struct pw_roof roof;
};

struct pw_gpulist {
    struct pw_gpulist_row *rows; /* sorted by host, then by the first rank that used the GPU */
    size_t n, nhosts;
    /* 1: any GPU is shared by ranks; was sampled by NVML; was measured by GPM */
    int is_shared, is_sampled, is_measured;
};

/* Returns 0 or -ENOMEM. */
int pw_gpulist_make(const struct pw_figures *figures, struct pw_gpulist *out);
void pw_gpulist_fini(struct pw_gpulist *list);

#endif
