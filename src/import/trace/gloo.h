/* Joins the up to three records that a torch.profiler trace has of a Gloo operation: the operator
 * that began it ("c10d::allreduce_"), its record_param_comms, and the annotation of the Gloo thread
 * that did it ("gloo:all_reduce"). Each annotation makes one operation; the others only add to it,
 * so that no operation is counted twice. nest.c gives the records in any order, and the times at
 * which threads had no operator open; rankwrite.c calls this and writes the operations. This file
 * writes no rows. */
#ifndef PW_IMPORT_GLOO_H
#define PW_IMPORT_GLOO_H

#include "import/trace/sorter.h"
#include "import/trace/trace.h"

/* The values order records that have the same start. */
enum pw_gloo_type {
    PW_GLOO_PAUSE, /* the thread has no operator open */
    PW_GLOO_BEGIN, /* the operator that begins an operation */
    PW_GLOO_TELL,  /* record_param_comms */
    PW_GLOO_WORK,  /* Gloo's annotation: from the queueing of the operation to its end */
};

struct pw_gloo_record {
    int64_t start, type, end; /* the key */
    int64_t count_in, count_out;
    int64_t thread;
    uint32_t collective; /* traceops.h */
    uint32_t pad;
};

struct pw_gloo_op {
    /* The key. `start` and -minus_return are the start and end of the operator that began it. */
    int64_t start, end, minus_return;
    int64_t wait_start; /* the thread waits from then to `end`; 0: it does not wait */
    int64_t count_in, count_out;
    int64_t thread;
    /* peer of a message, or the root, as a rank of the group; -1: none, or not known */
    int32_t peer;
    uint32_t collective; /* the annotation's operation */
    uint32_t told;       /* the operation of record_param_comms; 0: none */
    uint32_t is_begun;   /* 1: the operator that began it is known */
};

/* Reads all `records` (struct pw_gloo_record) and adds the operations (struct pw_gloo_op) to a new
 * sorter *out, whose order is that of their begin. Returns 0 or -errno. The caller destroys *out in
 * any case. */
int pw_gloo_join(struct pw_trace *trace, struct pw_sorter *records, struct pw_sorter **out);

#endif
