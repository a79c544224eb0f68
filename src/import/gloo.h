/* Joins what a trace of torch.profiler has of one operation of Gloo: the operator that began it
 * ("c10d::allreduce_"), what record_param_comms tells of it, and the annotation of Gloo's thread
 * that did it ("gloo:all_reduce"). The annotation alone makes an operation, so that none is counted
 * twice. nest.c gives the records in any order, with the times at which threads had no operator
 * open; rankwrite.c writes the operations. No rows of files are known here. */
#ifndef PW_IMPORT_GLOO_H
#define PW_IMPORT_GLOO_H

#include "import/sorter.h"
#include "import/trace.h"

/* In the order in which records of one time must come. */
enum pw_gloo_type {
    PW_GLOO_PAUSE, /* the thread has no operator open */
    PW_GLOO_BEGIN, /* the operator that begins an operation */
    PW_GLOO_TELL,  /* record_param_comms */
    PW_GLOO_WORK,  /* from when Gloo has the operation until it has done it */
};

struct pw_gloo_record {
    int64_t start, type, end; /* the key */
    int64_t count_in, count_out;
    int64_t thread;
    uint32_t collective; /* traceops.h */
    uint32_t pad;
};

struct pw_gloo_op {
    int64_t start, end, minus_return; /* the key; begin of the operator that began it to its end */
    int64_t wait_start; /* when its thread had nothing else to do; 0: it had until the end */
    int64_t count_in, count_out;
    int64_t thread;
    int32_t peer; /* of a message, or the root, as a rank of the group; -1: none, or not known */
    uint32_t collective; /* what the annotation tells */
    uint32_t told;       /* what record_param_comms does; 0: nothing */
    uint32_t is_begun;   /* 0: no operator that began it is known */
};

/* Reads `records` (struct pw_gloo_record) to their end; *out has the operations in the order in
 * which they were begun. 0 or -errno; *out is the caller's in any case. */
int pw_gloo_join(struct pw_trace *trace, struct pw_sorter *records, struct pw_sorter **out);

#endif
