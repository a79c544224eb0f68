/* One rank that is imported: its file, its names, and the profiling window that is being read. A
 * format gives records; nest.c, join.c and rankwrite.c make rows of them. */
#ifndef PW_IMPORT_TRACE_H
#define PW_IMPORT_TRACE_H

#include <stdint.h>

#include "import/ranknames.h"
#include "import/records.h"
#include "import/sorter.h"
#include "import/traceops.h"

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
    int64_t first_malformed;                /* offset of the first one, -1: none */
    int64_t cut_files;                      /* that end early */
    int64_t windows, first_step, last_step; /* steps -1: none */
    int64_t collectives, inferred_groups;
    int64_t lost;       /* operations that the trace says it does not have */
    int64_t unfinished; /* that had not ended when the trace was written */
    char first_unfinished[96];
};

/* A process group as the trace's head tells of it. */
struct pw_group {
    char name[64];
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
    /* Rows that are complete already (rows.h): of /steps; and of /events/cuda_sync, where the trace
     * has them beside the calls, whose waits then are the same ones. */
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

#endif
