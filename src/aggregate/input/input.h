/* One rank file in the merge: the data that are needed throughout, which are read and checked when
 * it is opened. Called by job.c. Tables are read later, by the places that are kept here, from the
 * open file; when a process has more rank files than it may have files open, some are closed and
 * opened again for each table. No MPI. */
#ifndef PW_AGGREGATE_INPUT_INPUT_H
#define PW_AGGREGATE_INPUT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "aggregate/input/progress.h"
#include "core/h5/h5file.h"
#include "core/h5/h5table.h"
#include "core/rowpack.h"
#include "core/tables.h"

/* Reads the knots of a rank's clock map from its file, at most PW_KNOTS_MOST: a clock that is
 * measured every 5 s has 6 million knots in a year, and the alignment uses some thousands. No MPI.
 */

enum { PW_KNOTS_MOST = 1 << 14 };

/* Knots in order of time. Each stands for a group of `group` knots that were added. */
struct pw_knots {
    struct pw_row_clock *v; /* [PW_KNOTS_MOST] at most */
    size_t n, capacity, group;
    struct pw_row_clock best, last; /* best knot of the current group; last of all */
    size_t waiting;                 /* number of knots in the current group */
};

/* Adds a knot. The first and the last knot are kept, and the one with the least error of each
 * group. Returns 0, -ENOMEM, or -EDOM when the knot is impossible after the one before. The caller
 * frees knots->v. */
int pw_knots_add(struct pw_knots *knots, const struct pw_row_clock *row);
int pw_knots_finish(struct pw_knots *knots);

/* An index of the blocks of events (events.h) by the start times of their sends and receives. It
 * finds the blocks with the messages that started in a span of time. Events are in the file in the
 * order of their ends, so a receive that was open for long is many blocks after events that started
 * later. Such a receive does not count with its own start, but as started together with messages
 * PW_START_INDEX_LATE blocks before it. So a span of time is always in few blocks. events.c fills
 * the index in the first pass; endpoints.c, messages.c and messagesums.c search it. Times are
 * local. No I/O. */

/* A message in block b counts as started no earlier than the latest start of all messages up to
 * block b - PW_START_INDEX_LATE. */
enum { PW_START_INDEX_LATE = 16 };

struct pw_start_index {
    size_t blocks;
    int64_t *latest;   /* [blocks] the latest start in block b or before it; INT64_MIN: none */
    int64_t *earliest; /* [blocks] the earliest start in block b or after it, as it counts;
                          INT64_MAX: none */
    int64_t *before;   /* [blocks + 1] number of sends and receives before block b */
};

/* Returns 0 or -ENOMEM. */
int pw_start_index_init(struct pw_start_index *index, size_t blocks);

/* _note() is called once for each block, with its rows; then _finish() once. */
void pw_start_index_note(struct pw_start_index *index, size_t block,
                         const struct pw_row_comm_event *rows, size_t n);
void pw_start_index_finish(struct pw_start_index *index);

/* Returns the earliest start that a send or receive of the block can count with. */
int64_t pw_start_index_floor(const struct pw_start_index *index, size_t block);

/* Finds the blocks [*first, *end) that contain all messages that count as started in [from, to). */
void pw_start_index_find(const struct pw_start_index *index, int64_t from, int64_t to,
                         size_t *first, size_t *end);

/* The same, and additionally the block with the last start before `from`, and the block after the
 * last. */
void pw_start_index_around(const struct pw_start_index *index, int64_t from, int64_t to,
                           size_t *first, size_t *end);

/* Returns about how many messages count as started before `time`, as if starts were spread evenly
 * in each block. */
double pw_start_index_count(const struct pw_start_index *index, int64_t time);

void pw_start_index_fini(struct pw_start_index *index);

/* The rank of the job that has the rank `rank` in a communicator of NCCL. */
struct pw_comm_rank {
    uint64_t uid;
    int32_t rank, world_rank;
};

/* A collective of Gloo that the rank entered later than it called it, or the call that waits for
 * such collectives; see events.h. Local times. */
struct pw_entry {
    int64_t start, entered; /* start: as in the file */
    uint16_t thread;        /* of a collective */
    uint8_t is_wait;
};

enum { PW_INPUT_EXCEPTIONS = 4 }; /* uncaught exceptions of a rank that are kept */

struct pw_input {
    char *path;
    int fd; /* the open file; -1: it is opened for each table */
    struct pw_h5_place event_rows, range_rows, gap_rows, memory_rows, work_rows, flops_rows,
        runtime_rows;
    struct pw_h5_place kernel_rows, memcpy_rows, memset_rows;
    struct pw_h5_place process_rows, host_rows, cpus_rows; /* of samples */
    /* Set by the first pass over the events (events.h), together with start_index. starts_after:
     * earliest start of an event in block b or after it; NULL before that pass. messages: number of
     * sends and receives. */
    int64_t *starts_after;
    int64_t messages;
    int64_t tested, waited; /* calls that completed requests: MPI_Test and the like; MPI_Wait ... */
    int communicates;       /* 1: an event of the rank involves other ranks */
    int64_t device_ops; /* kernels of communication of which is not told which ranks they are of */
    int is_silent;      /* 1: no event does, but some should: the rank's waits are not known */
    int64_t impossible; /* number of rows with impossible values, which are ignored */
    struct pw_start_index start_index;
    struct pw_progress *progress; /* counts the rows that are read */
    uint8_t *phases;              /* [nphases] enum pw_phase of each row of /strings */
    size_t nphases;
    int64_t snapshot; /* 1: taken while the job ran */
    int64_t rank, world_size, complete, dropped, exit_code, exit_signal;
    int64_t start_unix_ns, end_unix_ns;
    char role[64]; /* as the program gave it; "": it gave none */
    char hostname[64], job[64], clock_domain[128], clock_sync[16], command[512];
    char imported[16];        /* the format that it was made of; "": it was recorded */
    char gpu_lacking[192];    /* GPU data that were not recorded although kernels were; "": none */
    int64_t gpu_processes;    /* child processes that used GPUs and were not recorded */
    int has_overhead;         /* 1: an imported file says what its profiler cost */
    int64_t impossible_times; /* activities of devices that an import left out */
    int nccl_uncounted; /* 1: it has called more collectives of NCCL than were recorded, perhaps */
    int64_t nccl_unplaced;      /* kernels of NCCL in replayed graphs whose operation is unknown */
    char gpu_unrecorded[192];   /* why GPUs were not recorded; "": they were, or there was none */
    char cupti_taken_by[192];   /* the other tool that used CUPTI, so that profwrap could not; "":
                                   none */
    struct pw_row_clock *knots; /* map to the cluster clock; empty until the merge has made it */
    size_t nknots;
    int32_t domain;            /* the rank's clock domain, numbered by the job */
    int aligned;               /* 1: the offset of its clock to the cluster clock is known */
    struct pw_row_step *steps; /* sorted by start */
    size_t nsteps;
    struct pw_rowpack packed_steps; /* the steps while they are packed */
    struct pw_row_window *windows;  /* windows of recording, in order; older files have none */
    size_t nwindows;
    struct pw_row_comms *comms;
    size_t ncomms;
    const struct pw_comm_rank *comm_ranks; /* the job's table; see events.h */
    size_t ncomm_ranks;
    struct pw_entry *entries; /* [nentries] sorted; most files have none */
    size_t nentries;
    int64_t uncounted; /* number of `comms` that claim an impossible number of collectives */
    struct pw_row_c_open_call *open_calls; /* with local times */
    size_t nopen_calls;
    /* The last error that MPI reported in a call that did not return; its local time. */
    uint8_t mpi_error; /* enum pw_mpi_error */
    int64_t mpi_error_ns;
    struct pw_missing_member *open_members; /* of the communicators of open calls, of dumps */
    size_t nopen_members;
    /* How the program ended, with local times; time -1: not known. See endings.h. */
    struct pw_row_ending ending;
    struct pw_row_c_exception *exceptions; /* uncaught ones; most files have none */
    size_t nexceptions;
    /* reasons why MPI calls are missing; most files have none */
    struct pw_row_unrecorded *unrecorded;
    size_t nunrecorded;
    int32_t *groups; /* [ncomms] index of the communicator in the job (instances.h); -1: it has one
                        rank, or is not used */
    int64_t waited_from_ns; /* local time from which it waited until its end for a rank that had
                               ended (endings.h); INT64_MAX: it did not */
    /* Local times: begin of the first operation (INT64_MAX: there is none), its end, and the end of
     * the last operation. */
    int64_t begin_ns, first_ns, last_ns;
    /* Local times, INT64_MAX when not known: the rank entered MPI_Init, or, in a
     * program without MPI, PyTorch's init_process_group or MindSpore's init(); entered and left
     * MPI_Finalize (only if these are the first and the last event of the file); the first and the
     * last sample. */
    int64_t init_ns, finalize_ns, finalized_ns, sampled_from, sampled_until;
    int init_source;  /* enum pw_source: whose init_ns is */
    int64_t begun_ns; /* local start of the earliest operation after that; INT64_MAX: there is none
                       */
    int64_t events;   /* rows of /events/comm and /events/range */
    double event_cost_ns, sync_ns;
};

/* Reads and checks a rank file. Returns 0, or -errno with one sentence in `problem`. The file stays
 * open if `stays_open`. */
int pw_input_open(struct pw_h5_types *types, const char *path, struct pw_input *out, char *problem,
                  size_t size);

/* Closes the file, which is opened again for each table. */
void pw_input_close_file(struct pw_input *input);

void pw_input_close(struct pw_input *input);

/* Keeps the steps in less memory, until pw_input_unpack_steps(): `steps` is NULL. Does nothing when
 * memory is short. */
void pw_input_pack_steps(struct pw_input *input);

/* Returns 0 or -ENOMEM. */
int pw_input_unpack_steps(struct pw_input *input);

/* Opens one of the tables, or the file for other data, which the caller closes. Return 0 or -errno.
 */
int pw_input_table(const struct pw_input *input, const struct pw_h5_place *place,
                   struct pw_h5_table **out);
int pw_input_file(const struct pw_input *input, struct pw_h5_types *types, struct pw_h5_file **out);

/* The rows of /strings of a rank file. */
struct pw_texts {
    char **v;
    size_t n;
};

/* Reads them; none when the file has no /strings. Returns 0 or -errno. The caller frees texts->v
 * with free(). */
int pw_input_texts(const struct pw_input *input, struct pw_texts *texts);

/* Returns the cluster time of a local time of this rank. */
int64_t pw_input_time(const struct pw_input *input, int64_t local_ns);

/* Returns the local time of a cluster time; `near` is a local time near it. */
int64_t pw_input_local(const struct pw_input *input, int64_t cluster_ns, int64_t near);

/* Returns the largest error bound of the clock over the run, ns; -1 when it is not aligned. */
int64_t pw_input_clock_error(const struct pw_input *input);

/* Returns the row of `steps` that contains local_ns, or -1. */
ptrdiff_t pw_input_step_at(const struct pw_input *input, int64_t local_ns);

/* The same; tries the step *hint and the next one first, and sets *hint to the result. */
ptrdiff_t pw_input_step_near(const struct pw_input *input, int64_t local_ns, ptrdiff_t *hint);

/* Returns the number of the window that contains local_ns, or of the one before it; 0 when there
 * are none. */
int32_t pw_input_window(const struct pw_input *input, int64_t local_ns);

/* Returns 1 when the rank did not record all the time. */
int pw_input_pauses(const struct pw_input *input);

/* Returns 1 when the file has activities of a GPU. */
int pw_input_has_gpu(const struct pw_input *input);

/* Returns the phase of a range with this name, or PW_PHASE_NONE. */
int pw_input_phase(const struct pw_input *input, uint32_t name);

/* ---- one event ---- */

/* 1 when all times and sizes of the row are within core/limits.h, else 0. */
int pw_event_is_possible(const struct pw_row_comm_event *event);

/* 1 when only the time is known at which the host requested the operation. Then its duration and
 * the rank that waited are unknown. */
static inline int pw_event_is_enqueued(const struct pw_row_comm_event *event)
{
    return event->source != PW_SOURCE_MPI && (event->flags & PW_FLAG_ENQUEUED);
}

/* The time at which the call that began the operation returned. A nonblocking operation goes on
 * after that, while the rank works. */
static inline int64_t pw_event_returned(const struct pw_row_comm_event *event)
{
    if (!(event->flags & PW_FLAG_NONBLOCKING))
        return event->end;
    int64_t waited = event->wait_start ? event->end - event->wait_start : 0;
    return event->start + event->inside_ns - waited;
}

#endif
