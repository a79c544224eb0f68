/* The communicators of an imported rank: one for each process group that the trace names.
 * Operations without a named group get one communicator for each stream on which NCCL kernels run,
 * and one for all of Gloo. import.c creates a table for each rank, and has it write /comms after
 * all windows; rankwrite.c looks up the communicators of operations. A communicator whose ranks are
 * not in the trace is marked as inferred; matchops.h, not this file, finds its members. */
#ifndef PW_IMPORT_COMMUNICATORS_H
#define PW_IMPORT_COMMUNICATORS_H

#include "import/trace/trace.h"

struct pw_comm_table;

struct pw_comm_table *pw_comm_table_create(void); /* NULL when memory is short */
void pw_comm_table_destroy(struct pw_comm_table *table);

/* Finds or makes the communicator of an NCCL operation. Returns its row of /comms, or -1 when
 * memory is short. *seq is the operation's number on the communicator when `numbered` is set, else
 * -1. *peer is the operation's peer as a rank of the communicator, or -1 (struct pw_collective has
 * it as a rank of the job). */
int32_t pw_comm_table_find(struct pw_trace *trace, const struct pw_device_record *record,
                           int numbered, int64_t *seq, int32_t *peer);

/* The communicator of a group of HCCL that an operation names. Returns its row of /comms, or -1
 * when memory is short. */
int32_t pw_comm_table_of_group(struct pw_trace *trace, const struct pw_collective *collective);

/* The same for a Gloo operation. When the trace does not name the operation's group, uses the Gloo
 * group of the trace's head if all Gloo groups there have the same ranks. */
int32_t pw_comm_table_find_gloo(struct pw_trace *trace, const struct pw_collective *collective,
                                int numbered, int64_t *seq);

/* Takes the number that the trace itself gives to an operation, counted from 0. Returns `seq`, or
 * -1 when it is not above the number before: then other ranks' operations cannot be matched to
 * it. */
int64_t pw_comm_table_number(struct pw_trace *trace, int32_t comm, int64_t seq);

/* Sets the communicator's size and this rank's number in it; -1: not known. */
void pw_comm_table_shape(const struct pw_trace *trace, int32_t comm, int32_t *size,
                         int32_t *my_rank);

/* Returns the rank of the job that has rank `place` in the communicator, or -1: not known. */
int32_t pw_comm_table_world_rank(const struct pw_trace *trace, int32_t comm, int32_t place);

/* Writes /comms and /comm_members, and sets inferred_groups in the trace's counts. */
void pw_comm_table_write(struct pw_trace *trace);

#endif
