/* The tables of rank and cluster files, each written once: a list of fields that expands to the C
 * row struct and to the descriptor from which the HDF5 compound type, `profwrap dump` and the
 * readers are made. Names and paths are the file format's; additions are free, a rename is a new
 * format_version.
 *
 * Field types: I64 I32 U64 U32 U16 U8 F64, the enumerations OP SOURCE KIND PAYLOAD REASON LOST
 * RECORDED PHASE STRAGGLER SLOWING PART CAUSE OPENED COPY SYNC TIMED UNRECORDED, and fixed UTF-8
 * strings S16 S32 S64 S256 S512 (NUL-padded).
 * Units are in the names; times are int64 ns on the rank's local clock in rank files, on the
 * cluster clock in cluster files; -1 in a _ns, bytes or rank field means "not known". */
#ifndef PW_CORE_TABLES_H
#define PW_CORE_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.def"

#define PW_ENUM_ITEM(id, value, name) PW_##id = value,
#define PW_ENUM_TYPE(name, items) enum pw_##name{items(PW_ENUM_ITEM)};
PW_ENUMS(PW_ENUM_TYPE)
#undef PW_ENUM_TYPE
#undef PW_ENUM_ITEM

/* Flags of /events/comm. */
enum {
    PW_FLAG_ERROR = 1,     /* the call returned an error */
    PW_FLAG_RECV_PART = 2, /* the receiving half of a Sendrecv */
    PW_FLAG_NONBLOCKING = 4,
    PW_FLAG_CANCELLED = 8,
    PW_FLAG_FREED = 16, /* the request was freed: `end` is when that happened */
    PW_FLAG_FORTRAN = 32,
    PW_FLAG_ENQUEUED = 32,   /* of source nccl: its times are those of the host that asked for it */
    PW_FLAG_ROOT = 64,       /* this rank is the root of a rooted collective */
    PW_FLAG_SATURATED = 128, /* inside_ns is a lower bound */
};

/* Flags of /events/range. */
enum {
    PW_RANGE_UNENDED = 1, /* its thread or the program ended first: `end` is when that was */
    PW_RANGE_PROCESS = 2, /* of the process, not of its thread: it nests in nothing */
    PW_RANGE_PAST = 4,    /* told when it had ended, by another's measurement: `thread` is a lane */
};

/* ---- expansion ---- */

typedef char pw_s16[16];
typedef char pw_s32[32];
typedef char pw_s64[64];
typedef char pw_s256[256];
typedef char pw_s512[512];

#define PW_CTYPE_I64 int64_t
#define PW_CTYPE_I32 int32_t
#define PW_CTYPE_U64 uint64_t
#define PW_CTYPE_U32 uint32_t
#define PW_CTYPE_U16 uint16_t
#define PW_CTYPE_U8 uint8_t
#define PW_CTYPE_F64 double
#define PW_CTYPE_S16 pw_s16
#define PW_CTYPE_S32 pw_s32
#define PW_CTYPE_S64 pw_s64
#define PW_CTYPE_S256 pw_s256
#define PW_CTYPE_S512 pw_s512
#define PW_CTYPE_OP uint16_t
#define PW_CTYPE_SOURCE uint8_t
#define PW_CTYPE_KIND uint8_t
#define PW_CTYPE_PAYLOAD uint8_t
#define PW_CTYPE_REASON uint8_t
#define PW_CTYPE_LOST uint8_t
#define PW_CTYPE_RECORDED uint8_t
#define PW_CTYPE_PHASE uint8_t
#define PW_CTYPE_STRAGGLER uint8_t
#define PW_CTYPE_SLOWING uint8_t
#define PW_CTYPE_PART uint8_t
#define PW_CTYPE_CAUSE uint8_t
#define PW_CTYPE_OPENED uint8_t
#define PW_CTYPE_COPY uint8_t
#define PW_CTYPE_SYNC uint8_t
#define PW_CTYPE_TIMED uint8_t
#define PW_CTYPE_UNRECORDED uint8_t

#define PW_ROW_MEMBER(type, name) PW_CTYPE_##type name;
#define PW_ROW_STRUCT(table, path, fields) \
    struct pw_row_##table {                \
        fields(PW_ROW_MEMBER)              \
    };
PW_RANK_TABLES(PW_ROW_STRUCT)
PW_CLUSTER_TABLES(PW_ROW_STRUCT)
#undef PW_ROW_STRUCT
#undef PW_ROW_MEMBER

#define PW_TABLE_ID(table, path, fields) PW_TABLE_##table,
enum pw_table_id { PW_RANK_TABLES(PW_TABLE_ID) PW_RANK_TABLE_COUNT };
enum pw_cluster_table_id {
    PW_CLUSTER_TABLE_BASE = PW_RANK_TABLE_COUNT - 1,
    PW_CLUSTER_TABLES(PW_TABLE_ID) PW_TABLE_COUNT
};
#undef PW_TABLE_ID

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
    PW_F_SOURCE,
    PW_F_KIND,
    PW_F_PAYLOAD,
    PW_F_REASON,
    PW_F_LOST,
    PW_F_RECORDED,
    PW_F_PHASE,
    PW_F_STRAGGLER,
    PW_F_SLOWING,
    PW_F_PART,
    PW_F_CAUSE,
    PW_F_OPENED,
    PW_F_COPY,
    PW_F_SYNC,
    PW_F_TIMED,
    PW_F_UNRECORDED,
    PW_F_LAST = PW_F_UNRECORDED,
};

struct pw_field {
    const char *name;
    enum pw_field_type type;
    size_t offset; /* in the row struct, bytes */
    size_t size;   /* bytes */
};

struct pw_table {
    const char *path;
    size_t row_size; /* sizeof the row struct */
    size_t nfields;
    const struct pw_field *(*fields)(void); /* nfields of them */
};

struct pw_enum_item {
    const char *name;
    int value;
};

/* The descriptor of a table; id < PW_TABLE_COUNT. */
const struct pw_table *pw_table_borrow(int id);

/* The table whose path is `path`, or -1. Rank and cluster files both have /steps: `first` is where
 * to begin the search (0 or PW_RANK_TABLE_COUNT). */
int pw_table_find(const char *path, int first);

/* The items of an enumeration type, terminated by name == NULL; NULL when `type` is no enumeration.
 */
const struct pw_enum_item *pw_enum_borrow(enum pw_field_type type);

/* The name of `value`, or "?" when the enumeration has none. */
const char *pw_enum_name(enum pw_field_type type, int value);

#endif
