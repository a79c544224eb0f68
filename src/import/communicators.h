/* The communicators of an imported rank: one for each process group that the trace names, and,
 * where it names none, one for each stream on which NCCL's kernels run, or one for all of Gloo.
 * import.c creates the table, one per rank, and writes /comms when all windows are written;
 * rankwrite.c looks operations up. A communicator whose ranks the trace does not have is marked as
 * inferred; its members are not guessed here (matchops.h does that). */
#ifndef PW_IMPORT_COMMUNICATORS_H
#define PW_IMPORT_COMMUNICATORS_H

#include "import/trace.h"

struct pw_comm_table;

struct pw_comm_table *pw_comm_table_create(void); /* NULL when memory is short */
void pw_comm_table_destroy(struct pw_comm_table *table);

/* The communicator of an NCCL operation: its row of /comms, or -1 when memory is short. With
 * `numbered`, *seq is the operation's number on it, else -1. *peer is the collective's
 * peer, which the trace gives as a rank of the job, as a rank of the communicator; -1 none. */
int32_t pw_comm_table_find(struct pw_trace *trace, const struct pw_device_record *record,
                           int numbered, int64_t *seq, int32_t *peer);

/* The same of an operation of Gloo, of which the trace need not name the group: then it is the one
 * of the trace's head, where all of Gloo's groups there have the same ranks. */
int32_t pw_comm_table_find_gloo(struct pw_trace *trace, const struct pw_collective *collective,
                                int numbered, int64_t *seq);

/* The number of an operation that the trace numbers itself, from 0: `seq`, or -1 where it does not
 * rise, for then it is not known which of two is the other ranks' one. */
int64_t pw_comm_table_number(struct pw_trace *trace, int32_t comm, int64_t seq);

/* How many ranks it has, and this rank in it; -1: not known. */
void pw_comm_table_shape(const struct pw_trace *trace, int32_t comm, int32_t *size,
                         int32_t *my_rank);

/* The rank of the job that has this place in it; -1: not known. */
int32_t pw_comm_table_world_rank(const struct pw_trace *trace, int32_t comm, int32_t place);

/* Writes /comms and /comm_members; how many were inferred goes to the trace's counts. */
void pw_comm_table_write(struct pw_trace *trace);

#endif
