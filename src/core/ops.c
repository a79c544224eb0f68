/* Expands ops.def into the table that tool code reads. */
#include "core/ops.h"

static const struct pw_op_info op_rows[PW_OP_COUNT] = {
#define PW_OP(name, class, shape, factor, level, sent, received)       \
    {#name, PW_CLASS_##class, PW_SHAPE_##shape,    PW_FACTOR_##factor, \
     level, PW_AMOUNT_##sent, PW_AMOUNT_##received},
#include "core/ops.def"
#undef PW_OP
};

const struct pw_op_info *pw_op_info(uint32_t op)
{
    return &op_rows[op < PW_OP_COUNT ? op : PW_OP_None];
}
