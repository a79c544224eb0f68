/* The tables of rank and cluster files, each written once: a list of fields that expands to the C row
 * struct and to the descriptor from which the HDF5 compound type, `profwrap dump` and the readers are
 * made. Names and paths are the file format's; additions are free, a rename is a new format_version.
 *
 * Field types: I64 I32 U64 U32 U16 U8 F64, the enumerations OP SOURCE KIND REASON RECORDED PHASE
 * STRAGGLER CAUSE ACTIVITY, and fixed UTF-8 strings S16 S32 S64 S256 (NUL-padded). Units are in the
 * names; times are int64 ns on the rank's local clock in rank files, on the cluster clock in cluster
 * files; -1 in a _ns, bytes or rank field means "not known". */
#ifndef PW_CORE_TABLES_H
#define PW_CORE_TABLES_H

#include <stddef.h>
#include <stdint.h>

/* ---- rank-NNNNN.h5 ---- */

/* cluster time = local + offset, linear between rows; |true offset - offset| <= error. */
#define PW_CLOCK_FIELDS(F) F(I64, local_ns) F(I64, offset_ns) F(I64, error_ns)

/* One communication operation. A nonblocking one lasts from its call to the end of the Wait or Test
 * that completed it; `wait_start` is when that call was entered (0: the operation blocked). For a Wait
 * or Test itself `seq` is the number of operations that it completed. `peer` is a world rank: partner,
 * or root of a rooted collective. */
#define PW_COMM_EVENT_FIELDS(F)                                                                    \
    F(I64, start) F(I64, end) F(OP, op) F(SOURCE, source) F(U8, flags) F(I32, comm) F(I64, seq)    \
    F(I64, sent_bytes) F(I64, recv_bytes) F(I32, peer) F(I32, tag) F(U16, thread) F(U32, request)  \
    F(I64, inside_ns) F(U32, stack) F(I64, wait_start)

#define PW_RANGE_FIELDS(F)                                                                         \
    F(I64, start) F(I64, end) F(U32, name) F(U32, domain) F(U32, category) F(KIND, kind)           \
    F(U16, thread) F(U16, depth) F(U32, shapes) F(I64, alloc_bytes)

#define PW_GAP_FIELDS(F) F(I64, start) F(I64, end) F(REASON, reason) F(U16, thread) F(I64, lost)

#define PW_STEP_FIELDS(F) F(I64, step) F(I64, start) F(I64, end) F(RECORDED, recorded)

/* Cumulative since the process started, but for rss_bytes. Context switches and run-queue wait are the
 * main thread's. */
#define PW_PROCESS_FIELDS(F)                                                                       \
    F(I64, time) F(I64, cpu_user_ns) F(I64, cpu_sys_ns) F(I64, rss_bytes) F(I64, minor_faults)     \
    F(I64, major_faults) F(I64, voluntary_cs) F(I64, involuntary_cs) F(I64, runq_wait_ns)          \
    F(I64, read_bytes) F(I64, write_bytes) F(I32, threads)

/* Cumulative since boot, in all CPUs' time. */
#define PW_HOST_FIELDS(F)                                                                          \
    F(I64, time) F(I64, busy_ns) F(I64, idle_ns) F(I64, steal_ns) F(I64, throttled_ns)

/* `collectives` counts the collective operations on it: sequence numbers are 0 .. collectives-1. */
#define PW_COMMS_FIELDS(F)                                                                         \
    F(U64, uid) F(I32, size) F(I32, my_rank) F(SOURCE, source) F(U32, name) F(I64, first_member)   \
    F(I64, collectives)

#define PW_MEMBER_FIELDS(F) F(I32, world_rank)

#define PW_OVERHEAD_FIELDS(F) F(S32, name) F(F64, value) F(S16, unit)

/* T(name, path, fields): row order is enum pw_table_id. */
#define PW_RANK_TABLES(T)                                                                          \
    T(clock, "/clock", PW_CLOCK_FIELDS)                                                            \
    T(comm_event, "/events/comm", PW_COMM_EVENT_FIELDS)                                            \
    T(range, "/events/range", PW_RANGE_FIELDS)                                                     \
    T(gap, "/events/gap", PW_GAP_FIELDS)                                                           \
    T(step, "/steps", PW_STEP_FIELDS)                                                              \
    T(process, "/samples/process", PW_PROCESS_FIELDS)                                              \
    T(host, "/samples/host", PW_HOST_FIELDS)                                                       \
    T(comms, "/comms", PW_COMMS_FIELDS)                                                            \
    T(member, "/comm_members", PW_MEMBER_FIELDS)                                                   \
    T(overhead, "/overhead", PW_OVERHEAD_FIELDS)

/* ---- cluster.h5 ---- */

#define PW_C_RANK_FIELDS(F)                                                                        \
    F(I32, rank) F(S64, hostname) F(U8, present) F(U8, complete) F(I64, dropped_events)            \
    F(I64, events) F(I64, clock_error_ns) F(I32, exit_code) F(I32, exit_signal)                    \
    F(I64, overhead_ns) F(I64, run_ns)

#define PW_C_STEP_FIELDS(F)                                                                        \
    F(I64, step) F(I64, start) F(I64, end) F(I64, duration_ns) F(I32, slowest_rank)                \
    F(RECORDED, recorded)

/* metrics.md "Step trace"; slowest first cause of a long total is read from own_ns, never total_ns. */
#define PW_C_STEP_TRACE_FIELDS(F)                                                                  \
    F(I64, interval_ns) F(I64, fp_bp_ns) F(I64, tail_ns) F(I64, total_ns) F(I64, compute_ns)       \
    F(I64, comm_ns) F(I64, comm_exposed_ns) F(I64, wait_ns) F(I64, data_wait_ns) F(I64, idle_ns)   \
    F(I64, own_ns)

/* Own work (range time less waiting for other ranks) per phase and outside any. */
#define PW_C_PHASE_TRACE_FIELDS(F)                                                                 \
    F(I64, data_ns) F(I64, forward_ns) F(I64, backward_ns) F(I64, allreduce_ns)                    \
    F(I64, optimizer_ns) F(I64, other_ns)

/* blame: rank-seconds the others waited for the last; critical: last minus second-last entry. */
#define PW_C_COLLECTIVE_FIELDS(F)                                                                  \
    F(U64, comm_uid) F(I64, seq) F(OP, op) F(SOURCE, source) F(I64, bytes) F(I32, nranks)          \
    F(I64, step) F(I64, first_enter) F(I64, last_enter) F(I64, first_exit) F(I64, last_exit)       \
    F(I32, last_rank) F(I64, wait_ns) F(I64, transfer_ns) F(F64, algbw) F(F64, busbw)              \
    F(U8, complete) F(I64, critical_ns) F(I64, error_ns)

/* Sums and quantiles over the instances of one operation, size class (bytes_max = 2^k - 1) and
 * communicator size. wait_mean is per rank. Bandwidths are of the transfer, without the wait. */
#define PW_C_COLLECTIVE_STAT_FIELDS(F)                                                             \
    F(U64, comm_uid) F(OP, op) F(SOURCE, source) F(I64, bytes_max) F(I32, nranks) F(I64, count)    \
    F(I64, bytes) F(I64, wait_mean_ns) F(I64, wait_p50_ns) F(I64, wait_p95_ns) F(I64, wait_max_ns) \
    F(I64, transfer_mean_ns) F(I64, transfer_p50_ns) F(I64, transfer_p95_ns)                       \
    F(I64, transfer_max_ns) F(F64, algbw_p50) F(F64, busbw_mean) F(F64, busbw_p50)                 \
    F(F64, busbw_p95) F(F64, busbw_max) F(F64, busbw_with_wait_p50)

#define PW_C_P2P_FIELDS(F)                                                                         \
    F(I32, src) F(I32, dst) F(I64, messages) F(I64, bytes) F(I64, late_sender_ns)                  \
    F(I64, late_receiver_ns) F(I64, transfer_ns)

/* steps_hit of the steps first_step..last_step; excess_ns is the median excess in the hit steps;
 * slowdown = excess / the others' median step; confidence in 0..1. */
#define PW_C_STRAGGLER_FIELDS(F)                                                                   \
    F(I32, rank) F(S64, hostname) F(STRAGGLER, kind) F(I64, first_step) F(I64, last_step)          \
    F(I64, steps_hit) F(I64, excess_ns) F(I64, blame_ns) F(I64, critical_ns) F(I64, gain_ns)       \
    F(F64, slowdown) F(PHASE, phase) F(CAUSE, cause) F(S256, evidence) F(F64, confidence)

/* POP metrics over the measured steps, 0..1, -1 where not known. */
#define PW_C_EFFICIENCY_FIELDS(F)                                                                  \
    F(F64, parallel_efficiency) F(F64, load_balance) F(F64, communication_efficiency)

#define PW_C_COMPLETENESS_FIELDS(F) F(I32, rank) F(S32, what) F(I64, count) F(S256, detail)

#define PW_CLUSTER_TABLES(T)                                                                       \
    T(c_rank, "/ranks", PW_C_RANK_FIELDS)                                                          \
    T(c_step, "/steps", PW_C_STEP_FIELDS)                                                          \
    T(c_step_trace, "/step_trace", PW_C_STEP_TRACE_FIELDS)                                         \
    T(c_phase_trace, "/phase_trace", PW_C_PHASE_TRACE_FIELDS)                                      \
    T(c_collective, "/collectives", PW_C_COLLECTIVE_FIELDS)                                        \
    T(c_collective_stat, "/collective_stats", PW_C_COLLECTIVE_STAT_FIELDS)                         \
    T(c_p2p, "/p2p", PW_C_P2P_FIELDS)                                                              \
    T(c_straggler, "/stragglers", PW_C_STRAGGLER_FIELDS)                                           \
    T(c_efficiency, "/efficiency", PW_C_EFFICIENCY_FIELDS)                                         \
    T(c_completeness, "/completeness", PW_C_COMPLETENESS_FIELDS)

/* ---- enumerations: E(identifier, value, name in the file) ---- */

#define PW_SOURCE_ENUM(E) E(SOURCE_MPI, 0, "mpi") E(SOURCE_NCCL, 1, "nccl")

#define PW_KIND_ENUM(E)                                                                            \
    E(KIND_USER, 0, "user") E(KIND_STEP, 1, "step") E(KIND_PHASE, 2, "phase")                      \
    E(KIND_OPERATOR, 3, "operator") E(KIND_DATA, 4, "data")

#define PW_REASON_ENUM(E)                                                                          \
    E(REASON_RING_FULL, 0, "ring_full") E(REASON_PAUSED, 1, "paused")                              \
    E(REASON_CUPTI_TAKEN, 2, "cupti_taken") E(REASON_FLUSH, 3, "flush")                            \
    E(REASON_LIMIT, 4, "limit")

#define PW_RECORDED_ENUM(E) E(RECORDED_ACTIVE, 0, "active") E(RECORDED_WARMUP, 1, "warmup")

/* Values of data..optimizer are enum profwrap_phase's in profwrap.h. */
#define PW_PHASE_ENUM(E)                                                                           \
    E(PHASE_NONE, 0, "none") E(PHASE_DATA, 1, "data") E(PHASE_FORWARD, 2, "forward")               \
    E(PHASE_BACKWARD, 3, "backward") E(PHASE_ALLREDUCE, 4, "allreduce")                            \
    E(PHASE_OPTIMIZER, 5, "optimizer") E(PHASE_OTHER, 6, "other")

#define PW_STRAGGLER_ENUM(E)                                                                       \
    E(STRAGGLER_PERSISTENT, 0, "persistent") E(STRAGGLER_INTERMITTENT, 1, "intermittent")          \
    E(STRAGGLER_ONE_OFF, 2, "one_off")

#define PW_CAUSE_ENUM(E)                                                                           \
    E(CAUSE_UNKNOWN, 0, "unknown") E(CAUSE_CPU_CONTENTION, 1, "cpu_contention")                    \
    E(CAUSE_MEMORY, 2, "page_faults") E(CAUSE_IO, 3, "file_io") E(CAUSE_DATA, 4, "data_starvation") \
    E(CAUSE_BLOCKED, 5, "blocked_off_cpu") E(CAUSE_COMPUTE, 6, "more_cpu_work")

#define PW_ENUMS(N)                                                                                \
    N(source, PW_SOURCE_ENUM) N(kind, PW_KIND_ENUM) N(reason, PW_REASON_ENUM)                      \
    N(recorded, PW_RECORDED_ENUM) N(phase, PW_PHASE_ENUM) N(straggler, PW_STRAGGLER_ENUM)          \
    N(cause, PW_CAUSE_ENUM)

#define PW_ENUM_ITEM(id, value, name) PW_##id = value,
#define PW_ENUM_TYPE(name, items) enum pw_##name { items(PW_ENUM_ITEM) };
PW_ENUMS(PW_ENUM_TYPE)
#undef PW_ENUM_TYPE
#undef PW_ENUM_ITEM

/* ---- expansion ---- */

typedef char pw_s16[16];
typedef char pw_s32[32];
typedef char pw_s64[64];
typedef char pw_s256[256];

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
#define PW_CTYPE_OP uint16_t
#define PW_CTYPE_SOURCE uint8_t
#define PW_CTYPE_KIND uint8_t
#define PW_CTYPE_REASON uint8_t
#define PW_CTYPE_RECORDED uint8_t
#define PW_CTYPE_PHASE uint8_t
#define PW_CTYPE_STRAGGLER uint8_t
#define PW_CTYPE_CAUSE uint8_t

#define PW_ROW_MEMBER(type, name) PW_CTYPE_##type name;
#define PW_ROW_STRUCT(table, path, fields)                                                         \
    struct pw_row_##table {                                                                        \
        fields(PW_ROW_MEMBER)                                                                      \
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
    PW_F_OP,
    PW_F_SOURCE,
    PW_F_KIND,
    PW_F_REASON,
    PW_F_RECORDED,
    PW_F_PHASE,
    PW_F_STRAGGLER,
    PW_F_CAUSE,
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

/* The table whose path is `path`, or -1. Rank and cluster files both have /steps: `first` is where to
 * begin the search (0 or PW_RANK_TABLE_COUNT). */
int pw_table_find(const char *path, int first);

/* The items of an enumeration type, terminated by name == NULL; NULL when `type` is no enumeration. */
const struct pw_enum_item *pw_enum_borrow(enum pw_field_type type);

/* The name of `value`, or "?" when the enumeration has none. */
const char *pw_enum_name(enum pw_field_type type, int value);

#endif
