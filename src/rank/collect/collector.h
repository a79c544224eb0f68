/* The interface of a collector module: something that is recorded. Its in-app half writes records
 * of its own types into the rings. Its tool half is one row of the table that run/activities.c
 * makes: the intake and the drain call the row's functions, which turn records into rows of the
 * rank file and take samples. Tool code, one thread; records may hold anything. */
#ifndef PW_RANK_COLLECT_COLLECTOR_H
#define PW_RANK_COLLECT_COLLECTOR_H

#include <stdint.h>
#include <sys/types.h>

#include "core/live.h"
#include "rank/file/rankfile.h"
#include "rank/ring/record.h"
#include "rank/ring/segment.h"

/* Where a record came from, in the file's terms. */
struct pw_origin {
    uint16_t thread;     /* index of the thread */
    uint32_t name_base;  /* row of /strings of the process's name id 0 */
    uint32_t stack_base; /* row of /stacks of its stack id 0 */
    uint32_t epoch;      /* counts the processes that have recorded for this rank */
    int64_t start, end;  /* the record's times, local ns */
};

/* A call that a thread is in, as it shows it; see pw_open_call. */
struct pw_shown_call {
    uint64_t start; /* ticks */
    uint32_t op, awaited;
    int32_t peer, tag;
    uint64_t handle;
};

/* What a program left in shared memory besides records, as records: called once, after its end.
 * `emit` is called for each. */
typedef void pw_salvage(const char *segment_name, const struct pw_segment_shared *segment,
                        void (*emit)(void *arg, const struct pw_record *record), void *arg);

#define PW_WATCH(type) (UINT64_C(1) << (type))
static_assert(PW_REC_TYPE_COUNT <= 64, "a set of types is one word");

/* The members that every collector with records has: how it is chosen, which records it reads, and
 * its functions. */
#define PW_COLLECTOR_RECORDS(word, bit, first, last) \
    .name = word, .activity = bit, .first_type = first, .last_type = last
#define PW_COLLECTOR_FUNCTIONS(creates, records, finishes, destroys) \
    .create = creates, .record = records, .finish = finishes, .destroy = destroys

struct pw_collector {
    const char *name;                          /* as in --activities */
    uint32_t activity;                         /* PW_ACTIVITY_* */
    enum pw_record_type first_type, last_type; /* PW_REC_NONE: writes no records */
    /* `state` is what create() answered; NULL, and the collector records nothing. */
    void *(*create)(struct pw_rankfile *file);
    /* Each of these may be NULL. */
    void (*record)(void *state, const struct pw_record *record, const struct pw_origin *origin);
    /* What other collectors record, and PW_REC_THREAD: of the types whose bits are in `watches`. */
    void (*watch)(void *state, const struct pw_record *record, const struct pw_origin *origin);
    uint64_t watches;
    void (*sample)(void *state, pid_t pid, int64_t now_ns);
    /* What the row of /events/open says of the call; its times and thread are there already.
     * `segment` is NULL where the records come from a journal. */
    void (*open)(void *state, const struct pw_segment_shared *segment,
                 const struct pw_shown_call *call, struct pw_row_open *row);
    /* Adds to what is said of the rank while it runs; of its threads, their calls are there. */
    void (*live)(void *state, const struct pw_segment_shared *segment, struct pw_live *live);
    void (*finish)(void *state, int64_t end_ns);
    pw_salvage *salvage; /* without a state: its records come back by record() */
    void (*destroy)(void *state);
};

/* Row of /strings for a name id of the process; 0 stays "". */
static inline uint32_t pw_origin_name(const struct pw_origin *origin, uint32_t id)
{
    return id ? origin->name_base + id : 0;
}

/* A communicator's row learns of its collective number `seq`. */
static inline void pw_count_collective(struct pw_row_comms *row, int64_t seq)
{
    if (row->collectives == 0 || seq < row->first_collective)
        row->first_collective = seq;
    if (seq >= row->collectives)
        row->collectives = seq + 1;
}

/* Row of /stacks for a stack id of the process. */
static inline uint32_t pw_origin_stack(const struct pw_origin *origin, uint32_t id)
{
    return id ? origin->stack_base + id : 0;
}

#endif
