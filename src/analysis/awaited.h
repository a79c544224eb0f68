/* Which of several requests a thread really waits for. A call such as MPI_Waitall does not tell
 * which of its messages are missing; the numbers of messages that both partners have counted do, in
 * many cases. Called by the report of a hang before pw_hang_find(). Pure arithmetic.
 *
 * A receive is missing when its source has begun fewer sends to this rank, on that communicator,
 * than this rank has received or waits for. A send is matched when its target has received, or
 * waits for, as many messages as this rank has begun. A nonblocking collective is missing when a
 * member has not begun it. If all requests that are not matched have one partner, this partner is
 * waited for. For all others it is not known whether they are missing: never a guess. Of a call
 * that returns with any of its requests, none has completed: it waits for either partner. */
#ifndef PW_ANALYSIS_AWAITED_H
#define PW_ANALYSIS_AWAITED_H

#include "core/live.h"

/* Sets `need` of all requests of ranks[n], sorted by rank. */
void pw_awaited_settle(struct pw_live *ranks, size_t n);

#endif
