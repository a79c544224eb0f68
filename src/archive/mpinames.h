/* What MPI's functions are called in OTF2: roles of regions, operations of collectives and of
 * windows. Used by the writer (take.c) and the reader (evtread.c). Pure functions on constant
 * tables. */
#ifndef PW_OTF2_MPINAMES_H
#define PW_OTF2_MPINAMES_H

#include <stddef.h>
#include <stdint.h>

#include <otf2/otf2.h>

#include "archive/record.h"
#include "core/ops.h"

OTF2_RegionRole pw_otf2_role(uint32_t op);

/* Returns OTF2's number of the operation, blocking or not; -1: OTF2 has none. */
int pw_otf2_collective(uint32_t op);

/* Returns the blocking function of one of OTF2's collectives; PW_OP_None: none. */
uint32_t pw_otf2_op_of_collective(OTF2_CollectiveOp collective);

/* Returns what an operation on a window does, PW_OTF2_PLAIN when OTF2 has no record for it; sets
 * the type of an atomic. */
uint16_t pw_otf2_remote(uint32_t op, uint32_t *atomic);

/* Returns the operation with the name of an MPI function, such as "MPI_Allreduce", also in the form
 * of Fortran ("MPI_ALLREDUCE", "mpi_allreduce_") and of PMPI; PW_OP_None: there is none. */
uint32_t pw_otf2_op_named(const char *name);

#endif
