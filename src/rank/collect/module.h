/* The interface of a collector module, which records one kind of event. Its in-app half writes
 * records of its own types into the rings. Its tool half is one row of the table that
 * run/activities.c makes: the intake and the drain call the row's functions, which turn records
 * into rows of the rank file and take samples. Also rows that two modules share. Tool code, one
 * thread; what a record holds is not to be trusted. */
#ifndef PW_RANK_COLLECT_MODULE_H
#define PW_RANK_COLLECT_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/live.h"
#include "rank/file/rankfile.h"
#include "rank/ring/record.h"
#include "rank/ring/segment.h"

/* Where a record came from, in numbers of the rank file. */
struct pw_origin {
    uint16_t thread;     /* index of the thread */
    uint32_t name_base;  /* with a name id above 0: its row of /strings */
    uint32_t stack_base; /* with a stack id above 0: its row of /stacks */
    uint32_t epoch;      /* number of the process, among those that have recorded for this rank */
    int64_t start, end;  /* the record's times, local ns */
};

/* A call that a thread is in, as read from its pw_open_call. */
struct pw_shown_call {
    uint64_t start; /* ticks */
    uint32_t op, awaited;
    int32_t peer, tag;
    uint64_t handle;
    uint32_t signature;
    uint32_t requests_n;  /* of a completion call that `awaited` does not describe: */
    uint64_t requests_at; /* its array of requests, in the program's memory */
    uint32_t error;       /* enum pw_mpi_error: MPI has reported it in this call; 0: none */
    uint64_t error_time;  /* ticks */
};

/* Converts data that the program left in shared memory, outside the rings, to records. Called once,
 * after the program's end; calls `emit` for each record. */
typedef void pw_salvage(const char *segment_name, const struct pw_segment_shared *segment,
                        void (*emit)(void *arg, const struct pw_record *record), void *arg);

#define PW_WATCH(type) (UINT64_C(1) << (type))
static_assert(PW_REC_TYPE_COUNT <= 64, "a set of types is one word");

/* Initialisers for members that every module with records has. RECORDS: its name, activity and
 * record types. FUNCTIONS: its functions. */
#define PW_MODULE_RECORDS(word, bit, first, last) \
    .name = word, .activity = bit, .first_type = first, .last_type = last
#define PW_MODULE_FUNCTIONS(creates, records, finishes, destroys) \
    .create = creates, .record = records, .finish = finishes, .destroy = destroys

struct pw_module {
    const char *name;                          /* as in --activities */
    uint32_t activity;                         /* PW_ACTIVITY_* */
    enum pw_record_type first_type, last_type; /* PW_REC_NONE: writes no records */
    /* Returns the `state` that is passed to the other functions. NULL: the module records
     * nothing. */
    void *(*create)(struct pw_rankfile *file);
    /* Each of these may be NULL. */
    void (*record)(void *state, const struct pw_record *record, const struct pw_origin *origin);
    /* Called for records whose type is a bit of `watches`: those of other modules that are on,
     * and PW_REC_THREAD and PW_REC_WINDOW. */
    void (*watch)(void *state, const struct pw_record *record, const struct pw_origin *origin);
    uint64_t watches;
    void (*sample)(void *state, pid_t pid, int64_t now_ns);
    /* Fills *row, a row of /events/open, from `call`; times and thread are set already. `segment`
     * is NULL when the records come from a journal. */
    void (*open)(void *state, const struct pw_segment_shared *segment,
                 const struct pw_shown_call *call, struct pw_row_open *row);
    /* Adds the module's figures to *live; the threads and their calls are set already. */
    void (*live)(void *state, const struct pw_segment_shared *segment, struct pw_live *live);
    /* Returns when the program has called the newest operation on a GPU that others must call, too,
     * and that may not have ended, local ns; -1: none. */
    int64_t (*queued)(void *state);
    void (*finish)(void *state, int64_t end_ns);
    pw_salvage *salvage; /* has no `state`: its records are passed to record() later */
    void (*destroy)(void *state);
};

/* Returns the row of /strings for a name id of the process; id 0 is row 0, "". */
static inline uint32_t pw_origin_name(const struct pw_origin *origin, uint32_t id)
{
    return id ? origin->name_base + id : 0;
}

/* Updates a communicator's row for its collective number `seq`. */
static inline void pw_count_collective(struct pw_row_comms *row, int64_t seq)
{
    if (row->collectives == 0 || seq < row->first_collective)
        row->first_collective = seq;
    if (seq >= row->collectives)
        row->collectives = seq + 1;
}

/* Returns the row of /stacks for a stack id of the process. */
static inline uint32_t pw_origin_stack(const struct pw_origin *origin, uint32_t id)
{
    return id ? origin->stack_base + id : 0;
}

/* ---- rows of /steps, from marks of steps; for the modules annotations and nvtx, which append them
 * themselves ---- */

/* The current step. */
struct pw_steprow {
    bool is_in;
    struct pw_row_step row; /* its `end` is not known yet */
};

/* Ends the current step at `end`. Returns true and sets *row when there was one. */
bool pw_steprow_end(struct pw_steprow *step, int64_t end, struct pw_row_step *row);

/* Processes a mark (pw_record_is_step) of time `start`. Returns true and sets *row when it ended
 * the step before, and that step was not cancelled. */
bool pw_steprow_mark(struct pw_steprow *step, const struct pw_record *record, int64_t start,
                     struct pw_row_step *row);

/* ---- rows of /events/range, for the same modules ---- */

/* Returns the row for a PW_REC_RANGE or PW_REC_NVTX, or for a PW_REC_NVTX_START without an end. */
struct pw_row_range pw_rangerow_of(const struct pw_record *record, const struct pw_origin *origin);

/* Returns the 64 bits of a payload as they are in the file, where a text is a row of /strings. */
int64_t pw_rangerow_payload(uint16_t type, int64_t value, const struct pw_origin *origin);

#endif
