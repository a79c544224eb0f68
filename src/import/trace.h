/* One rank that is imported: its file, its texts and threads, and the profiling window that is
 * being read. A format adds records of the host and of devices here; import.c then has each window
 * written (rankwrite.c), after nest.c has nested the ranges. Formats must not write these tables
 * themselves: order, depth and the rank's clock are only known when the window is whole. */
#ifndef PW_IMPORT_TRACE_H
#define PW_IMPORT_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "core/hash.h"
#include "import/sorter.h"
#include "import/traceops.h"
#include "rank/file/rankfile.h"

/* The texts and threads of a rank that is imported: contents to row of /strings, and the trace's
 * process and thread numbers to lanes. */

struct pw_names {
    struct pw_rankfile *file;
    struct pw_hash texts, lanes;
    int64_t (*lane_ids)[2]; /* process and thread of each lane */
    size_t nlanes, lanes_capacity;
    int64_t bytes;   /* of the texts */
    int64_t refused; /* texts past what may be kept: they are "(too many names)" */
};

void pw_names_init(struct pw_names *names, struct pw_rankfile *file);
void pw_names_fini(struct pw_names *names);

/* The row of a text; 0 for "". */
uint32_t pw_names_find(struct pw_names *names, const char *text, size_t length);

/* The lane of a thread. Beyond 65534 all are that one. */
int32_t pw_names_lane(struct pw_names *names, int64_t process, int64_t thread);

/* A number for a text where a process or thread is not numbered. */
int64_t pw_names_number(const char *text, size_t length);

/* What formats make of a trace's events, before they are nested, joined and put in order. The keys
 * are sorter.h's. */

enum pw_host_type {
    PW_HOST_RANGE,  /* a row of /events/range */
    PW_HOST_CALL,   /* a call of the CUDA runtime or driver */
    PW_HOST_MEMORY, /* an allocation: delta bytes in `sequence`, all of the device in `count_in` */
};

/* What a range is to an operation of Gloo (gloo.h). */
enum pw_host_role {
    PW_ROLE_NONE,
    PW_ROLE_BEGINS, /* the operator that begins it */
    PW_ROLE_TELLS,  /* record_param_comms in that */
    PW_ROLE_WORKS,  /* the annotation of Gloo's thread */
    PW_ROLE_WAITS,  /* an operator in which the program waits for it */
};

struct pw_host_record {
    int64_t thread, start, minus_end; /* the key: what is around others comes first */
    uint64_t id;                      /* of a call, its correlation; of a range, its External id */
    int64_t sequence;                 /* as in /events/range */
    int64_t count_in, count_out;      /* elements of a collective; -1: not known */
    uint32_t name, shapes, category;  /* rows of /strings */
    uint32_t collective;              /* traceops.h; 0: none */
    int32_t device;                   /* of memory, -1: the host */
    uint8_t type, kind;               /* enum pw_host_type; enum pw_kind of a range */
    uint8_t sync;                     /* enum pw_sync of a call that waits, else 0 */
    uint8_t role;                     /* enum pw_host_role of a range */
};

enum pw_device_type {
    PW_DEVICE_KERNEL,
    PW_DEVICE_MEMCPY,
    PW_DEVICE_MEMSET,
    PW_DEVICE_OPERATION, /* of NCCL, of which a log tells without its kernel */
};

struct pw_device_record {
    int64_t key[3]; /* correlation and start until it is joined, start and end then */
    int64_t start, end;
    uint64_t correlation, external;
    union {
        uint64_t graph_node;
        int64_t seq; /* of an operation, its number on the communicator; -1: it has none */
    };
    union {
        int64_t bytes;
        int64_t ran_ns; /* of an operation; 0: not known */
    };
    int64_t count_in, count_out, launch;
    int32_t thread, device;
    uint32_t launched_by, name, collective, context, stream;
    int32_t grid[3], block[3], registers, shared_bytes, src_device, dst_device;
    uint8_t type;
    union {
        uint8_t copy;
        uint8_t timed; /* of an operation: enum pw_timed */
    };
    uint8_t asynchronous;
    uint8_t is_nccl;
};

/* Who launched what has this correlation, or External id. */
struct pw_launch_record {
    int64_t id, time, pad; /* the key */
    int64_t count_in, count_out;
    int32_t thread;
    uint32_t launched_by, collective;
    uint32_t timed; /* 0: `time` is not that of the launch, but of the operator around it */
};

/* Why events of a trace are in no table; the words that are printed are in trace.c. */
enum pw_omission {
    PW_OMIT_NOTHING, /* it was taken */
    PW_OMIT_FLOW,
    PW_OMIT_GPU_ANNOTATION,
    PW_OMIT_CUDA_CALL,
    PW_OMIT_HINT,
    PW_OMIT_MARK,
    PW_OMIT_UNKNOWN,
    PW_OMIT_MALFORMED,
    PW_OMIT_NO_TIME,
    PW_OMIT_DUPLICATE_KEY,
    PW_OMIT_INCOMPLETE,
    PW_OMIT_GROUP,
    PW_OMIT_PROXY,
    PW_OMISSIONS
};
const char *pw_omission_words(enum pw_omission reason);

/* What became of the events, for who prints it. */
struct pw_import_counts {
    int64_t bytes, events, taken;
    int64_t omitted[PW_OMISSIONS];
    int64_t first_malformed;                    /* offset of the first one, -1: none */
    int64_t cut_files;                          /* that end early */
    int64_t windows, first_step, last_step;     /* steps -1: none */
    int64_t collectives, gloo, inferred_groups; /* operations of NCCL, and of Gloo */
    int64_t lost;       /* operations that the trace says it does not have */
    int64_t unfinished; /* that had not ended when the trace was written */
    char first_unfinished[96];
};

/* A process group as the trace's head tells of it. */
struct pw_group {
    char name[64];
    int is_gloo; /* 0: the head says that it is of another backend */
    int32_t *members;
    size_t size;
};

struct pw_trace {
    const char *dir;
    struct pw_rankfile *file;
    struct pw_names names;
    struct pw_collectives collectives;
    struct pw_group *groups;
    size_t ngroups;
    int has_unnamed_groups; /* as in the head (format.h) */
    int rank, world_size;
    int keep_cuda_calls;
    int described; /* 1: a file has said what is the same for all of the rank */
    struct pw_import_counts counts;
    struct pw_comm_table *comms; /* communicators.h */
};

/* One stretch that was recorded without a pause: the records of one file. */
struct pw_trace_window {
    struct pw_trace *trace;
    struct pw_sorter *host, *device; /* pw_host_record, pw_device_record */
    /* Rows that are complete already (struct pw_keyed_*, below): of /steps; and of
     * /events/cuda_sync, where the trace has them beside the calls, whose waits then are the same
     * ones. */
    struct pw_sorter *steps, *syncs;
    int64_t base_ns;          /* what is added to its times */
    int64_t start_ns, end_ns; /* INT64_MAX, INT64_MIN: not told */
    int64_t calls;            /* records of calls with a correlation */
    uint64_t devices;         /* bit i: device i ran something */
};

/* 0 or -ENOMEM. */
int pw_trace_window_create(struct pw_trace *trace, struct pw_trace_window *out);
void pw_trace_window_destroy(struct pw_trace_window *window);

/* What formats give. Times are ns before base_ns is added. */
void pw_trace_add_host(struct pw_trace_window *window, const struct pw_host_record *record);
void pw_trace_add_device(struct pw_trace_window *window, const struct pw_device_record *record);
void pw_trace_add_sync(struct pw_trace_window *window, const struct pw_row_cuda_sync *row);
void pw_trace_add_step(struct pw_trace_window *window, int64_t step, int64_t start, int64_t end);
void pw_trace_omit(struct pw_trace *trace, enum pw_omission reason);

/* When the window began and ended, as far as is known. */
int64_t pw_trace_window_start(const struct pw_trace_window *window);

/* Writes the rows of a window to the rank's file. Windows come in the order of their times. 0 or
 * -errno. */
int pw_trace_write(struct pw_trace_window *window);

/* Rows of tables that are put in order before they are written: behind their keys, as records for
 * sorter.h. */
#define PW_KEYED_ROW(table)            \
    struct pw_keyed_##table {          \
        int64_t key[3];                \
        union {                        \
            struct pw_row_##table row; \
            int64_t whole;             \
        };                             \
    }

PW_KEYED_ROW(range);
PW_KEYED_ROW(step);
PW_KEYED_ROW(cuda_api);
PW_KEYED_ROW(cuda_sync);
PW_KEYED_ROW(memory);

/* What waits of calls and categories both have: their order. */
enum { PW_ROWS_MEMORY = 12 << 20, PW_ROWS_MEMORY_SMALL = 1 << 20 };

#endif
