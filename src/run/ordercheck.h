/* Compares the order of collectives of all ranks of a running job, from their answers and their
 * journals. Called by `profwrap ctl check` and for the report of a hang. Tool code; only
 * reads: the journals of two ranks for each communicator that differs. */
#ifndef PW_RUN_ORDERCHECK_H
#define PW_RUN_ORDERCHECK_H

#include "rank/live/inquiry.h"
#include "report/live/orderview.h"

/* Finds the communicators whose members differ. The answers must be to a request for the order. */
void pw_ordercheck_find(const struct pw_inquiry *inquiry, struct pw_order_findings *out);

void pw_ordercheck_fini(struct pw_order_findings *findings);

#endif
