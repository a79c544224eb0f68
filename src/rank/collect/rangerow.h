/* Rows of /events/range from the records of all collectors that have ranges. In the collector. */
#ifndef PW_RANK_COLLECT_RANGEROW_H
#define PW_RANK_COLLECT_RANGEROW_H

#include "rank/collect/collector.h"

/* What a PW_REC_RANGE or PW_REC_NVTX, or a PW_REC_NVTX_START without its end, says. */
struct pw_row_range pw_rangerow_of(const struct pw_record *record, const struct pw_origin *origin);

/* The 64 bits of a payload as they are in the file: texts are rows of /strings there. */
int64_t pw_rangerow_payload(uint16_t type, int64_t value, const struct pw_origin *origin);

#endif
