/* The tables of rank and cluster files. Each table is one list of fields, F(type, name, unit,
 * meaning). The list expands to the C row struct and to a descriptor. The HDF5 compound type, the
 * attributes that describe columns (core/h5/h5types.h), `profwrap dump` and the readers use the
 * descriptor. `scripts/schema` writes the tables of docs/schema.md from the list. Names and paths
 * belong to the file format: fields may be added, but a rename needs a new format_version. Used by
 * all code that writes or reads these files.
 *
 * Field types: I64 I32 U64 U32 U16 U8 F64, fixed UTF-8 strings S16 S32 S64 S256 S512 (NUL-padded),
 * and enumerations: OP and those of PW_ENUMS.
 * A unit is "ns", "bytes" and so on, "" where there is none. A meaning is a phrase of plain text,
 * in which `x` is a name, and FILE.md#SECTION is a page of docs. Times are int64 ns, in rank files
 * on the rank's local clock, in cluster files on the cluster clock. -1 in a _ns, bytes or rank
 * field means "not known". */
#ifndef PW_CORE_TABLES_H
#define PW_CORE_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "core/causes.h"
#include "core/tables.def"

#define PW_ENUM_ITEM(id, value, ...) PW_##id = value,
#define PW_ENUM_TYPE(name, type, items) enum pw_##name{items(PW_ENUM_ITEM)};
PW_ENUMS(PW_ENUM_TYPE)
#undef PW_ENUM_TYPE
#undef PW_ENUM_ITEM

/* Flags of /events/comm, one byte. The meaning of bit 32 depends on `source`: read it by a function
 * that checks `source`, such as pw_event_is_enqueued(). */
enum {
    PW_FLAG_ERROR = 1,     /* the call returned an error */
    PW_FLAG_RECV_PART = 2, /* the receiving half of a Sendrecv */
    PW_FLAG_NONBLOCKING = 4,
    PW_FLAG_CANCELLED = 8,
    PW_FLAG_FREED = 16,      /* the request was freed: `end` is when that happened */
    PW_FLAG_FORTRAN = 32,    /* when `source` is mpi: called from Fortran */
    PW_FLAG_ENQUEUED = 32,   /* when `source` is nccl or gloo: start and end are the host call's */
    PW_FLAG_ROOT = 64,       /* this rank is the root of a rooted collective */
    PW_FLAG_SATURATED = 128, /* inside_ns is a lower bound */
};

/* Whether operations of this source run on a device, beside the program. */
static inline int pw_source_is_on_device(uint8_t source)
{
    return source == PW_SOURCE_NCCL || source == PW_SOURCE_HCCL || source == PW_SOURCE_ONECCL ||
           source == PW_SOURCE_DEVICE;
}

/* What stands before an operation's name: "MPI_", "nccl", "gloo "; "" for an unknown source. */
const char *pw_source_prefix(uint32_t source);

/* The call in which the ranks of a job meet before all others: "init_process_group" of source gloo,
 * "MindSpore's init()" of mccl, "MPI_Init" of all others. */
const char *pw_source_init(int64_t source);

/* Flags of /events/range. */
enum {
    PW_RANGE_UNENDED = 1, /* the thread or program ended before the range did: `end` is that time */
    PW_RANGE_PROCESS = 2, /* of the process, not of a thread: not nested in other ranges */
    PW_RANGE_PAST = 4,    /* recorded after it had ended, with measured times: `thread` is a lane */
};

/* ---- expansion ---- */

typedef int64_t pw_type_I64;
typedef int32_t pw_type_I32;
typedef uint64_t pw_type_U64;
typedef uint32_t pw_type_U32;
typedef uint16_t pw_type_U16;
typedef uint8_t pw_type_U8;
typedef double pw_type_F64;
typedef char pw_type_S16[16];
typedef char pw_type_S32[32];
typedef char pw_type_S64[64];
typedef char pw_type_S256[256];
typedef char pw_type_S512[512];
typedef uint16_t pw_type_OP;
#define PW_ENUM_MEMBER(name, type, items) typedef uint8_t pw_type_##type;
PW_ENUMS(PW_ENUM_MEMBER)
#undef PW_ENUM_MEMBER

#define PW_ROW_MEMBER(type, name, unit, meaning) pw_type_##type name;
#define PW_ROW_STRUCT(table, path, fields) \
    struct pw_row_##table {                \
        fields(PW_ROW_MEMBER)              \
    };
#define PW_CLUSTER_ROW_STRUCT(table, path, fields, where, member, count) \
    PW_ROW_STRUCT(table, path, fields)
PW_RANK_TABLES(PW_ROW_STRUCT)
PW_CLUSTER_TABLES(PW_CLUSTER_ROW_STRUCT)
#undef PW_CLUSTER_ROW_STRUCT
#undef PW_ROW_STRUCT
#undef PW_ROW_MEMBER

#define PW_TABLE_ID(table, path, fields) PW_TABLE_##table,
enum pw_table_id { PW_RANK_TABLES(PW_TABLE_ID) PW_RANK_TABLE_COUNT };
#undef PW_TABLE_ID
#define PW_TABLE_ID(table, path, fields, where, member, count) PW_TABLE_##table,
enum pw_cluster_table_id {
    PW_CLUSTER_TABLE_BASE = PW_RANK_TABLE_COUNT - 1,
    PW_CLUSTER_TABLES(PW_TABLE_ID) PW_TABLE_COUNT
};
#undef PW_TABLE_ID

#define PW_ENUM_FIELD(name, type, items) PW_F_##type,
/* PW_F_OP is the first enumeration; see pw_enum_borrow(). */
enum pw_field_type {
    PW_F_I64,
    PW_F_I32,
    PW_F_U64,
    PW_F_U32,
    PW_F_U16,
    PW_F_U8,
    PW_F_F64,
    PW_F_S16,
    PW_F_S32,
    PW_F_S64,
    PW_F_S256,
    PW_F_S512,
    PW_F_OP,
    PW_ENUMS(PW_ENUM_FIELD) PW_F_END
};
#undef PW_ENUM_FIELD

struct pw_field {
    const char *name;
    enum pw_field_type type;
    size_t offset; /* in the row struct, bytes */
    size_t size;   /* bytes */
    const char *unit, *meaning;
};

struct pw_table {
    const char *path;
    size_t row_size; /* sizeof the row struct */
    size_t nfields;
    const struct pw_field *(*fields)(void); /* returns `nfields` fields */
};

struct pw_enum_item {
    const char *name;
    int value;
};

/* The descriptor of a table; id < PW_TABLE_COUNT. */
const struct pw_table *pw_table_borrow(int id);

/* The value of an integer field (also of an enumeration) in a row of its table. */
int64_t pw_field_integer(const struct pw_field *field, const void *row);

/* Whether the fields lie one after another within the row, each has the size of its type, and no
 * two have the same name. For tests and assertions (core/check.h). */
int pw_table_is_valid(const struct pw_table *table);

/* The items of an enumeration type, terminated by name == NULL; NULL when `type` is no enumeration.
 */
const struct pw_enum_item *pw_enum_borrow(enum pw_field_type type);

/* The name of `value`, or "?" when the enumeration has none. */
const char *pw_enum_name(enum pw_field_type type, int value);

/* The words for an enum pw_cause: what a person reads as the cause ("cgroup CPU throttling"), and
 * what the rank was doing meanwhile ("ready to run but without a CPU"). "" when nothing is known,
 * or for a value that is not in the enumeration. */
const char *pw_cause_title(int cause);
const char *pw_cause_doing(int cause);

#endif
