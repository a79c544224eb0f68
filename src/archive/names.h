/* The names that profwrap's archives have for what OTF2 has no record for: attributes of Enter
 * events, the region of a step, a property of the archive. And what MPI's functions are called in
 * OTF2. Used by the writer (defs.c, take.c, write.c) and the reader (read.c, load.c). Constants and
 * pure functions only. */
#ifndef PW_OTF2_NAMES_H
#define PW_OTF2_NAMES_H

#include <otf2/otf2.h>
#include <stddef.h>
#include <stdint.h>

#include "archive/sortedrecord.h"
#include "core/ops.h"

/* A(id, name, OTF2's type, description): attributes, numbered from 0. */
#define PW_OTF2_ATTRIBUTES(A)                                                          \
    A(KIND, "profwrap::kind", OTF2_TYPE_STRING, "kind of a range of the program")      \
    A(CATEGORY, "profwrap::category", OTF2_TYPE_STRING, "type of an operator")         \
    A(SHAPES, "profwrap::shapes", OTF2_TYPE_STRING, "shapes of an operator's inputs")  \
    A(SEQUENCE, "profwrap::sequence", OTF2_TYPE_INT64, "number of a step or operator") \
    A(RECORDED, "profwrap::recorded", OTF2_TYPE_STRING, "how a step was recorded")     \
    A(REASON, "profwrap::reason", OTF2_TYPE_STRING, "why records are missing")         \
    A(LOST, "profwrap::lost", OTF2_TYPE_INT64, "records that are missing")             \
    A(BYTES, "profwrap::bytes", OTF2_TYPE_INT64, "bytes of a copy, or of a file's data")

enum pw_otf2_attribute {
#define PW_OTF2_ATTRIBUTE(id, name, type, description) PW_OTF2_##id,
    PW_OTF2_ATTRIBUTES(PW_OTF2_ATTRIBUTE)
#undef PW_OTF2_ATTRIBUTE
        PW_OTF2_ATTRIBUTE_COUNT
};

#define PW_OTF2_STEP "step"
#define PW_OTF2_VERSION_PROPERTY "PROFWRAP::VERSION"

/* What MPI's functions are called in OTF2: roles of regions, operations of collectives and of
 * windows. Pure functions on constant tables. */

OTF2_RegionRole pw_otf2_role(uint32_t op);

/* Returns OTF2's number of the operation, blocking or not; -1: OTF2 has none. */
int pw_otf2_collective(uint32_t op);

/* Returns what an operation on a window does, PW_OTF2_PLAIN when OTF2 has no record for it; sets
 * the type of an atomic. */
uint16_t pw_otf2_remote(uint32_t op, uint32_t *atomic);

/* Returns the operation with the name of an MPI function, such as "MPI_Allreduce", also in the form
 * of Fortran ("MPI_ALLREDUCE", "mpi_allreduce_") and of PMPI; PW_OP_None: there is none. */
uint32_t pw_otf2_op_named(const char *name);

#endif
