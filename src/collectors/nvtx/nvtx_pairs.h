/* Ranges of the process: one thread begins them, any may end them, and the two records come from
 * different rings, in any order. */
#ifndef PW_NVTX_PAIRS_H
#define PW_NVTX_PAIRS_H

#include "rank/collect/collector.h"

struct pw_nvtx_pairs;

/* NULL when memory is short. */
struct pw_nvtx_pairs *pw_nvtx_pairs_create(struct pw_rankfile *file);

/* A PW_REC_NVTX_START and a PW_REC_NVTX_END; the second of the two makes a row. */
void pw_nvtx_pairs_start(struct pw_nvtx_pairs *pairs, const struct pw_record *record,
                         const struct pw_origin *origin);
void pw_nvtx_pairs_end(struct pw_nvtx_pairs *pairs, const struct pw_record *record,
                       const struct pw_origin *origin);

/* Rows of the ranges that nobody ended, and in /overhead how many halves there were no room for,
 * and ends without a begin. */
void pw_nvtx_pairs_finish(struct pw_nvtx_pairs *pairs, int64_t end_ns);

void pw_nvtx_pairs_destroy(struct pw_nvtx_pairs *pairs);

#endif
