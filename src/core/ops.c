/* Expands mpi_functions.def into the table that tool code reads. */
#include "core/ops.h"

static const struct pw_op_info op_rows[PW_OP_COUNT] = {
#define PW_OP(name, class, shape, factor, level, sent, received)       \
    {#name, PW_CLASS_##class, PW_SHAPE_##shape,    PW_FACTOR_##factor, \
     level, PW_AMOUNT_##sent, PW_AMOUNT_##received},
#include "core/mpi_functions.def"
#undef PW_OP
};

static int is_list(enum pw_op_amount amount)
{
    return amount == PW_AMOUNT_SLIST || amount == PW_AMOUNT_SLIST_TYPES ||
           amount == PW_AMOUNT_RLIST || amount == PW_AMOUNT_RLIST_TYPES;
}

static int is_uneven(enum pw_op_amount amount)
{
    return is_list(amount) || amount == PW_AMOUNT_PARTS || amount == PW_AMOUNT_PART ||
           amount == PW_AMOUNT_UNTOLD;
}

int pw_op_is_even(const struct pw_op_info *op)
{
    return op->cls == PW_CLASS_COLL && op->shape == PW_SHAPE_ALL && !is_uneven(op->sent) &&
           !is_uneven(op->received);
}

int pw_op_has_parts(const struct pw_op_info *op)
{
    return is_list(op->sent) && is_list(op->received);
}

const struct pw_op_info *pw_op_info(uint32_t op)
{
    return &op_rows[op < PW_OP_COUNT ? op : PW_OP_None];
}
