/* Imports one event of a Kineto trace: sorts its members by key, and adds a record for it to the
 * window. kineto.c calls this for each event of a trace; other formats must not use it. Every event
 * that is not imported is counted under a reason. */
#ifndef PW_IMPORT_KINETO_EVENTS_H
#define PW_IMPORT_KINETO_EVENTS_H

#include "import/trace/format.h"
#include "import/trace/trace.h"

// clang-format off
/* K(identifier, depth, key): depth 0 for members of the event, 1 for members of its "args". */
#define PW_KINETO_KEYS(K)                                                                          \
    K(PH, 0, "ph") K(CAT, 0, "cat") K(NAME, 0, "name") K(PID, 0, "pid") K(TID, 0, "tid")           \
    K(TS, 0, "ts") K(DUR, 0, "dur") K(EXTERNAL, 1, "External id")                                  \
    K(EXTERNAL_OLD, 1, "external id") K(CORRELATION, 1, "correlation") K(DEVICE, 1, "device")      \
    K(CONTEXT, 1, "context") K(STREAM, 1, "stream") K(GRID, 1, "grid") K(BLOCK, 1, "block")        \
    K(REGISTERS, 1, "registers per thread") K(SHARED, 1, "shared memory") K(BYTES, 1, "bytes")     \
    K(GRAPH_NODE, 1, "graph node id") K(DIMS, 1, "Input Dims") K(DIMS_OLD, 1, "Input dims")        \
    K(TYPES, 1, "Input type") K(SEQUENCE, 1, "Sequence number")                                    \
    K(COLLECTIVE, 1, "Collective name") K(NELEMS_IN, 1, "In msg nelems")                           \
    K(NELEMS_OUT, 1, "Out msg nelems") K(DTYPE, 1, "dtype") K(GROUP_SIZE, 1, "Group size")         \
    K(GROUP_NAME, 1, "Process Group Name") K(GROUP_NOTE, 1, "Process Group Description")           \
    K(GROUP_RANKS, 1, "Process Group Ranks") K(RANK_START, 1, "Global rank start")                 \
    K(RANK_STRIDE, 1, "Global rank stride") K(SRC_RANK, 1, "Src Rank")                             \
    K(DST_RANK, 1, "Dst Rank") K(TOTAL_ALLOCATED, 1, "Total Allocated")                            \
    K(MEMORY_BYTES, 1, "Bytes") K(DEVICE_ID, 1, "Device Id") K(DEVICE_TYPE, 1, "Device Type")      \
    K(ARG_NAME, 1, "name") K(LABELS, 1, "labels") K(SYNC_KIND, 1, "cuda_sync_kind")                \
    K(EVENT_ID, 1, "wait_on_cuda_event_id") K(FROM_DEVICE, 1, "fromDevice")                        \
    K(TO_DEVICE, 1, "toDevice") K(RESULT, 1, "return_code") K(CONCRETE, 1, "Concrete Inputs")
// clang-format on

enum pw_kineto_key {
#define PW_KINETO_ID(id, depth, key) PW_KINETO_##id,
    PW_KINETO_KEYS(PW_KINETO_ID)
#undef PW_KINETO_ID
        PW_KINETO_KEY_COUNT
};

/* An event's items by enum pw_kineto_key; NULL: the event does not have the key. */
struct pw_kineto_event {
    const struct pw_json_item *of[PW_KINETO_KEY_COUNT];
    int duplicate; /* 1: the event has a key twice */
};

/* Lists of the keys of each length, for looking them up. */
struct pw_kineto_index {
    uint8_t first[48], next[PW_KINETO_KEY_COUNT]; /* number of a key + 1; 0: end of the list */
};

struct pw_kineto {
    struct pw_import_event json; /* the event as it is in the file */
    struct pw_trace_window *window;
    struct pw_trace *trace;
    struct pw_kineto_index index;
    struct pw_kineto_event event;
    int64_t start, end; /* of the current event, ns */
    struct {
        int64_t pid, tid;
        int32_t lane; /* -1: no thread yet */
    } last;           /* the last event's thread */
};

void pw_kineto_index_init(struct pw_kineto_index *index);

void pw_kineto_event_sort(const struct pw_kineto_index *index, const struct pw_json_object *object,
                          struct pw_kineto_event *out);

/* Imports k->event. Returns 0, or the enum pw_omission for the caller to count. Events without a
 * valid time are counted here, and give 0. */
int pw_kineto_take(struct pw_kineto *k);

#endif
