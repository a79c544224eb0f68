/* Expands tables.h into descriptors; see there. */
#include "core/tables.h"

#include <string.h>

#include "core/ops.h"

#define FIELD_COUNT(type, name, unit, meaning) +1
#define FIELD_ROW(type, field, unit, meaning) \
    {#field, PW_F_##type, offsetof(ROW, field), sizeof(pw_type_##type), unit, meaning},

/* A function per table, so that FIELD_ROW can name its struct. */
#define TABLE_FIELDS(table, path, fields)                          \
    static const struct pw_field *fields_##table(void)             \
    {                                                              \
        typedef struct pw_row_##table ROW;                         \
        static const struct pw_field rows[] = {fields(FIELD_ROW)}; \
        return rows;                                               \
    }
#define CLUSTER_TABLE_FIELDS(table, path, fields, where, member, count) \
    TABLE_FIELDS(table, path, fields)
PW_RANK_TABLES(TABLE_FIELDS)
PW_CLUSTER_TABLES(CLUSTER_TABLE_FIELDS)
#undef CLUSTER_TABLE_FIELDS
#undef TABLE_FIELDS

static const struct pw_table tables[] = {
#define TABLE_ROW(table, path, fields) \
    {path, sizeof(struct pw_row_##table), 0 fields(FIELD_COUNT), fields_##table},
#define CLUSTER_TABLE_ROW(table, path, fields, where, member, count) TABLE_ROW(table, path, fields)
    PW_RANK_TABLES(TABLE_ROW) PW_CLUSTER_TABLES(CLUSTER_TABLE_ROW)
#undef CLUSTER_TABLE_ROW
#undef TABLE_ROW
};

#define ENUM_ITEM(id, value, ...) {ENUM_NAME(__VA_ARGS__, ), value},
#define ENUM_NAME(name, ...) name
#define ENUM_ITEMS(name, type, items) \
    static const struct pw_enum_item items_##name[] = {items(ENUM_ITEM){NULL, 0}};
PW_ENUMS(ENUM_ITEMS)

static const struct pw_enum_item items_op[] = {
#define PW_OP(name, class, shape, factor, level, sent, received) {#name, PW_OP_##name},
#include "core/mpi_functions.def"
#undef PW_OP
    {NULL, 0}};

const struct pw_table *pw_table_borrow(int id)
{
    return &tables[id];
}

static size_t size_of_type(enum pw_field_type type)
{
    static const size_t sizes[] = {
#define TYPE_SIZE(name) [PW_F_##name] = sizeof(pw_type_##name),
        TYPE_SIZE(I64) TYPE_SIZE(I32) TYPE_SIZE(U64) TYPE_SIZE(U32) TYPE_SIZE(U16) TYPE_SIZE(U8)
            TYPE_SIZE(F64) TYPE_SIZE(S16) TYPE_SIZE(S32) TYPE_SIZE(S64) TYPE_SIZE(S256)
                TYPE_SIZE(S512) TYPE_SIZE(OP)
#undef TYPE_SIZE
#define ENUM_SIZE(name, type, items) [PW_F_##type] = sizeof(pw_type_##type),
                    PW_ENUMS(ENUM_SIZE)
#undef ENUM_SIZE
    };
    return sizes[type];
}

int pw_table_is_valid(const struct pw_table *table)
{
    const struct pw_field *fields = table->fields();
    size_t end = 0;
    for (size_t i = 0; i < table->nfields; i++) {
        if (fields[i].size != size_of_type(fields[i].type) || fields[i].offset < end)
            return 0;
        for (size_t k = 0; k < i; k++)
            if (strcmp(fields[i].name, fields[k].name) == 0)
                return 0;
        end = fields[i].offset + fields[i].size;
    }
    return table->path[0] == '/' && table->nfields > 0 && end <= table->row_size &&
           table->row_size < end + 8;
}

const struct pw_enum_item *pw_enum_borrow(enum pw_field_type type)
{
    switch (type) {
    case PW_F_OP:
        return items_op;
#define ENUM_CASE(name, type, items) \
    case PW_F_##type:                \
        return items_##name;
        PW_ENUMS(ENUM_CASE)
#undef ENUM_CASE
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

#define CAUSE_TITLE(id, value, name, title, doing) [PW_##id] = title,
#define CAUSE_DOING(id, value, name, title, doing) [PW_##id] = doing,

const char *pw_cause_title(int cause)
{
    static const char *const titles[] = {PW_CAUSE_ENUM(CAUSE_TITLE)};
    return cause >= 0 && (size_t)cause < sizeof(titles) / sizeof(*titles) ? titles[cause] : "";
}

const char *pw_cause_doing(int cause)
{
    static const char *const doings[] = {PW_CAUSE_ENUM(CAUSE_DOING)};
    return cause >= 0 && (size_t)cause < sizeof(doings) / sizeof(*doings) ? doings[cause] : "";
}

int64_t pw_field_integer(const struct pw_field *field, const void *row)
{
    const char *at = (const char *)row + field->offset;
    switch (field->size) {
    case 1:
        return *(const uint8_t *)at;
    case 2: {
        uint16_t value;
        memcpy(&value, at, sizeof(value));
        return value;
    }
    case 4: {
        int32_t value;
        memcpy(&value, at, sizeof(value));
        return field->type == PW_F_U32 ? (int64_t)(uint32_t)value : value;
    }
    default: {
        int64_t value;
        memcpy(&value, at, sizeof(value));
        return value;
    }
    }
}

const char *pw_source_prefix(uint32_t source)
{
    static const char *const prefixes[] = {
        [PW_SOURCE_MPI] = "MPI_",      [PW_SOURCE_NCCL] = "nccl",  [PW_SOURCE_GLOO] = "gloo ",
        [PW_SOURCE_HCCL] = "hccl",     [PW_SOURCE_MCCL] = "mccl ", [PW_SOURCE_ONECCL] = "oneccl ",
        [PW_SOURCE_DEVICE] = "device "};
    return source < sizeof(prefixes) / sizeof(prefixes[0]) ? prefixes[source] : "";
}

const char *pw_source_init(int64_t source)
{
    return source == PW_SOURCE_GLOO   ? "init_process_group"
           : source == PW_SOURCE_MCCL ? "MindSpore's init()"
                                      : "MPI_Init";
}
