/* Expands tables.h into descriptors; see there. */
#include "core/tables.h"

#include <string.h>

#include "core/ops.h"

#define FIELD_COUNT(type, name) +1
#define FIELD_ROW(type, field) {#field, PW_F_##type, offsetof(ROW, field), sizeof(PW_CTYPE_##type)},

/* A function per table, so that FIELD_ROW can name its struct. */
#define TABLE_FIELDS(table, path, fields)                          \
    static const struct pw_field *fields_##table(void)             \
    {                                                              \
        typedef struct pw_row_##table ROW;                         \
        static const struct pw_field rows[] = {fields(FIELD_ROW)}; \
        return rows;                                               \
    }
PW_RANK_TABLES(TABLE_FIELDS)
PW_CLUSTER_TABLES(TABLE_FIELDS)
#undef TABLE_FIELDS

static const struct pw_table tables[] = {
#define TABLE_ROW(table, path, fields) \
    {path, sizeof(struct pw_row_##table), 0 fields(FIELD_COUNT), fields_##table},
    PW_RANK_TABLES(TABLE_ROW) PW_CLUSTER_TABLES(TABLE_ROW)
#undef TABLE_ROW
};

#define ENUM_ITEM(id, value, name) {name, value},
#define ENUM_ITEMS(enum_name, items) \
    static const struct pw_enum_item items_##enum_name[] = {items(ENUM_ITEM){NULL, 0}};
PW_ENUMS(ENUM_ITEMS)

static const struct pw_enum_item items_op[] = {
#define PW_OP(name, class, shape, factor, level) {#name, PW_OP_##name},
#include "core/ops.def"
#undef PW_OP
    {NULL, 0}};

const struct pw_table *pw_table_borrow(int id)
{
    return &tables[id];
}

int pw_table_find(const char *path, int first)
{
    for (int id = first; id < PW_TABLE_COUNT; id++)
        if (strcmp(tables[id].path, path) == 0)
            return id;
    return -1;
}

const struct pw_enum_item *pw_enum_borrow(enum pw_field_type type)
{
    switch (type) {
    case PW_F_OP:
        return items_op;
    case PW_F_SOURCE:
        return items_source;
    case PW_F_KIND:
        return items_kind;
    case PW_F_PAYLOAD:
        return items_payload;
    case PW_F_REASON:
        return items_reason;
    case PW_F_LOST:
        return items_lost;
    case PW_F_RECORDED:
        return items_recorded;
    case PW_F_PHASE:
        return items_phase;
    case PW_F_STRAGGLER:
        return items_straggler;
    case PW_F_SLOWING:
        return items_slowing;
    case PW_F_PART:
        return items_part;
    case PW_F_CAUSE:
        return items_cause;
    case PW_F_OPENED:
        return items_opened;
    case PW_F_COPY:
        return items_copy;
    case PW_F_SYNC:
        return items_sync;
    case PW_F_TIMED:
        return items_timed;
    case PW_F_UNRECORDED:
        return items_unrecorded;
    default:
        return NULL;
    }
}

const char *pw_enum_name(enum pw_field_type type, int value)
{
    const struct pw_enum_item *item = pw_enum_borrow(type);
    for (; item && item->name; item++)
        if (item->value == value)
            return item->name;
    return "?";
}
