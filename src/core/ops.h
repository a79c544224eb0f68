/* The communication operations and what each means for the analyses; rows in mpi_functions.def.
 * Used by the in-app wrappers (numbers and constants), the rank file (enumeration), the merge and
 * the reports (shape, bandwidth). Constant tables and one lookup, safe in-app. */
#ifndef PW_CORE_OPS_H
#define PW_CORE_OPS_H

#include <assert.h>
#include <stdint.h>

enum pw_op {
#define PW_OP(name, class, shape, factor, level, sent, received) PW_OP_##name,
#include "core/mpi_functions.def"
#undef PW_OP
    PW_OP_COUNT
};
static_assert(PW_OP_None == 0, "a thread in call 0 is in none; other rows may be anywhere");

enum pw_op_class {
    PW_CLASS_COLL,
    PW_CLASS_SEND,
    PW_CLASS_RECV,
    PW_CLASS_WAIT,
    PW_CLASS_PROBE,
    PW_CLASS_COMM,
    PW_CLASS_SYNC,
    PW_CLASS_RMA,
    PW_CLASS_IO,
    PW_CLASS_LOCAL,
};

enum pw_op_shape {
    PW_SHAPE_ALL,
    PW_SHAPE_FROM_ROOT,
    PW_SHAPE_TO_ROOT,
    PW_SHAPE_PARTIAL,
    PW_SHAPE_NONE,
#define PW_OP(name, class, shape, factor, level, sent, received) \
    PW_OP_SHAPE_##name = PW_SHAPE_##shape,
#include "core/mpi_functions.def"
#undef PW_OP
};

enum pw_op_factor { PW_FACTOR_NO, PW_FACTOR_ONE, PW_FACTOR_AG, PW_FACTOR_AR };

/* What a rank sends or receives, in terms of the call's arguments; mpi_functions.def says what each
 * is. */
enum pw_op_amount {
    PW_AMOUNT_NOTHING,
    PW_AMOUNT_UNTOLD,
    PW_AMOUNT_SBLOCK,
    PW_AMOUNT_EACH_SBLOCK,
    PW_AMOUNT_SLIST,
    PW_AMOUNT_SLIST_TYPES,
    PW_AMOUNT_RBLOCK,
    PW_AMOUNT_EACH_RBLOCK,
    PW_AMOUNT_RLIST,
    PW_AMOUNT_RLIST_TYPES,
    PW_AMOUNT_PARTS,
    PW_AMOUNT_PART,
    PW_AMOUNT_EACH_PART,
    PW_AMOUNT_ELEMENT,
#define PW_OP(name, class, shape, factor, level, sent, received) \
    PW_OP_SENT_##name = PW_AMOUNT_##sent, PW_OP_RECEIVED_##name = PW_AMOUNT_##received,
#include "core/mpi_functions.def"
#undef PW_OP
};

struct pw_op_info {
    const char *name;
    enum pw_op_class cls;
    enum pw_op_shape shape;
    enum pw_op_factor factor;
    int level;
    enum pw_op_amount sent, received;
};

/* The row of `op`; an unknown value gets the row of None. Never NULL. */
const struct pw_op_info *pw_op_info(uint32_t op);

/* Whether every rank gets data from every other rank, so that no rank can finish before all have
 * begun (unless the size is 0). True for barriers and for n-to-n collectives whose blocks have one
 * size. False for collectives with lists of counts, where a rank may need nothing from another. */
int pw_op_is_even(const struct pw_op_info *op);

/* Whether both the sizes that a rank sends and those that it receives are lists: Alltoallv,
 * Alltoallw and their variants. */
int pw_op_has_parts(const struct pw_op_info *op);

enum { PW_HIGHEST_LEVEL = 2 };

/* The column `level` of each operation as a constant, for in-app code that must not call a
 * function. The enumerations above have the constants of shape, sent and received. */
enum {
#define PW_OP(name, class, shape, factor, level, sent, received) PW_OP_LEVEL_##name = level,
#include "core/mpi_functions.def"
#undef PW_OP
};

#endif
