/* Where the ranks of a running job differ in the order of collectives, in words and as JSON. Called
 * by run/ordercheck.c, which finds it, by cli/ and by liveview.c. Asks no rank, reads no file. */
#ifndef PW_REPORT_LIVE_ORDERVIEW_H
#define PW_REPORT_LIVE_ORDERVIEW_H

#include <jansson.h>

#include "analysis/callorder.h"
#include "core/live.h"

enum { PW_ORDER_TEXT = 768, PW_ORDER_FINDINGS = 8 };

/* A communicator whose members do not agree. Rows are those of the answers. */
struct pw_order_finding {
    uint64_t comm_uid;
    char comm_name[PW_LIVE_NAME];
    uint8_t source;         /* enum pw_source */
    int32_t *others, *most; /* world ranks of the smallest and of the largest group, rising */
    size_t nothers, nmost;
    size_t nmore;                /* ranks that are in neither */
    int is_even;                 /* 1: no group is larger than all others */
    int64_t agreed, differ;      /* as in struct pw_callorder_split */
    enum pw_callorder_kind kind; /* PW_CALLORDER_GAP: the first call that differs is not known */
    int64_t seq;
    struct pw_ordered_call of_most, of_others; /* of one rank of each group */
    /* Where they were called; "" not known. */
    char site_of_most[PW_LIVE_PLACE], site_of_others[PW_LIVE_PLACE];
};

struct pw_order_findings {
    struct pw_order_finding list[PW_ORDER_FINDINGS];
    size_t n, more;
    size_t compared;   /* communicators of several ranks that were compared */
    size_t uncompared; /* those that were not, because MPI lets their members differ */
};

/* Writes a sentence without its full stop: "rank 5 skipped MPI_Allreduce #412 on tp, which ranks
 * 0-4 called". Returns `out`. */
const char *pw_order_write(const struct pw_order_finding *finding, char *out, size_t size);

/* Returns an object; NULL when memory is short. */
json_t *pw_order_json(const struct pw_order_finding *finding);

#endif
