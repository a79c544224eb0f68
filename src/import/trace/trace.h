/* The state of an import of one rank: its rank file, its texts and threads, and its profiling
 * windows. A format adds records of the host and of devices to a window; import.c then calls
 * pw_trace_write(), which nests the ranges (nest.c) and writes the rows (rankwrite.c). Formats must
 * not write these tables themselves: order, depth and base of times are known only after the whole
 * window was read. */
#ifndef PW_IMPORT_TRACE_H
#define PW_IMPORT_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "core/hash.h"
#include "import/trace/sorter.h"
#include "import/trace/traceops.h"
#include "rank/file/rankfile.h"

/* The texts and threads of a rank: maps a text to its row of /strings, and a process and thread of
 * the trace to a lane. */

struct pw_names {
    struct pw_rankfile *file;
    struct pw_hash texts, lanes;
    int64_t (*lane_ids)[2]; /* process and thread of each lane */
    size_t nlanes, lanes_capacity;
    int64_t bytes;   /* bytes of all texts */
    int64_t refused; /* texts beyond the limit: all share the row "(too many names)" */
};

void pw_names_init(struct pw_names *names, struct pw_rankfile *file);
void pw_names_fini(struct pw_names *names);

/* Returns the row of a text in /strings, which it adds if it is new; 0 for "" and when memory is
 * short. */
uint32_t pw_names_find(struct pw_names *names, const char *text, size_t length);

/* Returns the lane of a thread, 0 .. 65534. Lane 65534 stands for all further threads. */
int32_t pw_names_lane(struct pw_names *names, int64_t process, int64_t thread);

/* Returns a hash of a text, for use as a number where the trace names a process or thread by a
 * text. */
int64_t pw_names_number(const char *text, size_t length);

/* The records that formats make from a trace's events. They are nested, joined and sorted later.
 * Each begins with its key for sorter.h. */

enum pw_host_type {
    PW_HOST_RANGE,  /* becomes a row of /events/range */
    PW_HOST_CALL,   /* a call of the CUDA runtime or driver */
    PW_HOST_MEMORY, /* an allocation: `sequence` has the change, `count_in` the device's total,
                       bytes */
};

/* A range's role in an operation of Gloo (gloo.h). */
enum pw_host_role {
    PW_ROLE_NONE,
    PW_ROLE_BEGINS, /* the operator that begins the operation */
    PW_ROLE_TELLS,  /* record_param_comms inside that operator */
    PW_ROLE_WORKS,  /* the annotation of Gloo's thread */
    PW_ROLE_WAITS,  /* an operator in which the program waits for the operation */
};

struct pw_host_record {
    int64_t thread, start, minus_end; /* the key: an enclosing range comes before those inside it */
    uint64_t id;                      /* a call's correlation; a range's External id */
    int64_t sequence;                 /* as in /events/range */
    int64_t count_in, count_out;      /* elements of a collective; -1: not known */
    uint32_t name, shapes, category;  /* rows of /strings */
    uint32_t collective;              /* number in pw_trace.collectives; 0: none */
    int32_t device;                   /* of an allocation; -1: the host */
    uint8_t type, kind;               /* enum pw_host_type; enum pw_kind of a range */
    uint8_t sync;                     /* enum pw_sync of a call that waits, else 0 */
    uint8_t role;                     /* enum pw_host_role of a range */
};

/* Returns a record with these fields; counts, sequence and device are not known. */
struct pw_host_record pw_host_record_make(enum pw_host_type type, int64_t thread, int64_t start,
                                          int64_t end, uint32_t name);

enum pw_device_type {
    PW_DEVICE_KERNEL,
    PW_DEVICE_MEMCPY,
    PW_DEVICE_MEMSET,
    PW_DEVICE_OPERATION, /* an operation that a log has without its kernel */
};

struct pw_device_record {
    int64_t key[3]; /* first correlation and start; after joining, start, end and stream */
    int64_t start, end;
    uint64_t correlation, external;
    uint64_t graph_node;
    int64_t seq; /* of an operation: its number on the communicator; -1: none */
    union {
        int64_t bytes;
        int64_t ran_ns; /* of an operation: ns that it ran; 0: not known */
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
    uint8_t is_nccl;     /* the kernel is an operation of communication */
    uint8_t library;     /* enum pw_library of such a kernel, unless its collective tells */
    uint8_t is_numbered; /* that kernel's `seq` is its number, else they are counted */
    uint8_t is_open;     /* an operation that had not ended when the log was written */
};

/* The launch of the device records that have this correlation or External id. */
struct pw_launch_record {
    int64_t id, time, pad; /* the key */
    int64_t count_in, count_out;
    int32_t thread;
    uint32_t launched_by, collective;
    uint32_t timed; /* 0: `time` is the start of the operator around the launch; 1: of the launch */
};

/* The reasons for which events are not imported. pw_omission_words() returns the text of a reason,
 * for messages. */
enum pw_omission {
    PW_OMIT_NOTHING, /* the event was imported */
    PW_OMIT_FLOW,
    PW_OMIT_GPU_ANNOTATION,
    PW_OMIT_CUDA_CALL,
    PW_OMIT_HINT,
    PW_OMIT_MARK,
    PW_OMIT_UNKNOWN,
    PW_OMIT_FUNCTION,
    PW_OMIT_MALFORMED,
    PW_OMIT_NO_TIME,
    PW_OMIT_EARLY,
    PW_OMIT_OUTSIDE,
    PW_OMIT_TOO_LONG,
    PW_OMIT_DUPLICATE_KEY,
    PW_OMIT_INCOMPLETE,
    PW_OMIT_GROUP,
    PW_OMIT_PROXY,
    PW_OMIT_DERIVED,
    PW_OMIT_COUNTER,
    PW_OMIT_TASK,
    PW_OMIT_HCCL_TASK,
    PW_OMIT_LAYER,
    PW_OMIT_AVERAGE,
    PW_OMIT_BATCH_TIME,
    PW_OMIT_UNPLACED,
    PW_OMIT_UNPLACED_CPU,
    PW_OMIT_TWICE,
    PW_OMIT_BRANCH,
    PW_OMISSIONS
};
const char *pw_omission_words(enum pw_omission reason);

/* Counts of imported and omitted events, for the messages of cmd_import.c. */
struct pw_import_counts {
    int64_t bytes, events, taken;
    int64_t omitted[PW_OMISSIONS];
    int64_t first_malformed;                /* offset in the file; -1: none */
    int64_t cut_files;                      /* files that end early */
    int64_t windows, first_step, last_step; /* steps: -1: none */
    int64_t operations[PW_LIBRARIES];       /* of each library */
    int64_t inferred_groups;                /* communicators */
    int64_t most_overlap_ns; /* of activities that last beyond the next of their stream */
    int64_t before_launch; /* activities that begin before their launch, too many to be left out */
    int64_t overheads, overhead_ns; /* what the profiler itself took, as the trace tells */
    int64_t lost;                   /* operations that the recorder dropped, as the trace says */
    int64_t unfinished;             /* operations that had not ended when the trace was written */
    char first_unfinished[96];
    int64_t cut_groups; /* of which the trace has not the last operations, as it says itself */
    char first_cut[96];
    char files_omitted[800]; /* beside a trace, that are not read; some of them */
    char names_omitted[160]; /* what the omitted are called, some of them; "": not told */
};

/* A process group of the trace's head. */
struct pw_group {
    char name[64];
    int is_gloo; /* 0: the head names another backend */
    int32_t *members;
    size_t size;
};

struct pw_msprof;
struct pw_stepsums;

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
    int checks_devices; /* 1: activities with impossible times are left out (devicecheck.h) */
    int described; /* 1: a file's devices and metadata were written, so other files' are skipped */
    struct pw_import_counts counts;
    struct pw_comm_table *comms;    /* communicators.h */
    const struct pw_msprof *msprof; /* what msprof-analyze says of the job (msprof.h), or NULL */
    struct pw_stepsums *sums;       /* with that: the same of the imported events (stepsums.h) */
};

struct pw_jsonfile_text;

/* One profiling window: the records of one file. */
struct pw_trace_window {
    struct pw_trace *trace;
    const struct pw_jsonfile_text *text; /* of the file that is read; NULL: it is not in memory */
    struct pw_sorter *host, *device;     /* pw_host_record, pw_device_record */
    /* Rows that are complete (struct pw_keyed_*, below): of /steps, and of /events/cuda_sync when
     * the trace lists synchronizations. Then the calls that wait add no rows to /events/cuda_sync,
     * because they are the same waits. */
    struct pw_sorter *steps, *syncs;
    int64_t base_ns;          /* to be added to all times of the window */
    int64_t start_ns, end_ns; /* without base_ns; INT64_MAX, INT64_MIN: not known */
    int has_span;             /* 1: the trace tells its own span, which is part of that */
    struct {
        int64_t start_ns, end_ns; /* of device records, until these have been checked */
    } device_span;
    int is_device_only;  /* 1: no record of the host, so the span is that of device records */
    int64_t zero_end_ns; /* the last end of records that begin at 0; INT64_MIN: none */
    int drops_zero;      /* 1: these are left out, since all others are much later */
    int64_t calls;       /* calls that have a correlation */
    uint64_t devices;    /* bit i: device i has a record */
};

/* Returns 0 or -ENOMEM. */
int pw_trace_window_create(struct pw_trace *trace, struct pw_trace_window *out);
void pw_trace_window_destroy(struct pw_trace_window *window);

/* Returns a record of this type and time, in which all else is not known. */
struct pw_device_record pw_trace_device(enum pw_device_type type, int64_t start, int64_t end);

/* For formats: add records to the window, or count an omitted event. Times are ns without
 * base_ns. */
void pw_trace_add_host(struct pw_trace_window *window, const struct pw_host_record *record);
void pw_trace_add_device(struct pw_trace_window *window, const struct pw_device_record *record);
void pw_trace_add_sync(struct pw_trace_window *window, const struct pw_row_cuda_sync *row);
void pw_trace_add_step(struct pw_trace_window *window, int64_t step, int64_t start, int64_t end);
void pw_trace_omit(struct pw_trace *trace, enum pw_omission reason);

/* Keeps what omitted events are called, for who prints their number: each name once. */
void pw_trace_name_omitted(struct pw_trace *trace, const char *name, size_t length);

/* Adds a name to "a, b", if it is not among them and there is room. */
void pw_names_list(char *list, size_t size, const char *name, size_t length);

/* Decides, once all records were added, what the window's span is until its device records have
 * been checked, and whether records that begin at 0 are possible. */
void pw_trace_window_bound(struct pw_trace_window *window);

/* Returns the window's start with base_ns, ns. */
int64_t pw_trace_window_start(const struct pw_trace_window *window);

/* Writes the rows of a window to the rank's file (rankwrite.c). Must be called in the order of the
 * windows' times. Returns 0 or -errno. */
int pw_trace_write(struct pw_trace_window *window);

/* Records for sorter.h of tables whose rows are sorted before they are written: a key, then the
 * row. */
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

/* Memory of a sorter of rows, bytes: of large and of small tables. */
enum { PW_ROWS_MEMORY = 12 << 20, PW_ROWS_MEMORY_SMALL = 1 << 20 };

#endif
