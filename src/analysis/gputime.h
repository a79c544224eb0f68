/* How a rank's GPUs spent their time: computed in one sweep over their activities, which are given
 * in the order of their starts. Called by aggregate/gpu. Pure arithmetic: no I/O, no allocation;
 * the caller gives the windows. docs/metrics.md, "GPU time", has the definitions.
 *
 * All GPUs of a rank count as one device, which is busy when anything runs on any of them. Between
 * activities it is idle. The reason is taken from the activity that ends the gap. If it was
 * launched after the gap began, the host was late. If it was launched earlier, a short gap is the
 * normal distance between two kernels; in a long gap the activity waited for something else, such
 * as another stream. */
#ifndef PW_ANALYSIS_GPUTIME_H
#define PW_ANALYSIS_GPUTIME_H

#include <stddef.h>
#include <stdint.h>

/* Gaps up to this are short. */
enum { PW_GPU_GAP_NS = 30000 };

enum pw_gpu_kind {
    PW_GPU_COMPUTE, /* kernels other than NCCL's */
    PW_GPU_COMM,    /* NCCL's kernels */
    PW_GPU_COPY,    /* copies and memsets */
    PW_GPU_DEVICE_KINDS,
    PW_GPU_WAIT = PW_GPU_DEVICE_KINDS, /* the rank waits for others in a communication operation */
    PW_GPU_CALL,                       /* communication operations, on the device or not */
    PW_GPU_KINDS
};

struct pw_gpu_activity {
    int64_t start, end, launch; /* ns, on one clock; launch -1: not known */
    enum pw_gpu_kind kind;
    int32_t device; /* -1: an activity of the host */
};

/* A window of time, and the length of these sets of time inside it. u: union (time in which several
 * activities run counts once); \: without. */
struct pw_gpu_window {
    int64_t start, end;
    int64_t busy_ns;         /* compute u comm u copy: the device is busy */
    int64_t compute_ns;      /* u compute */
    int64_t comm_ns;         /* u comm */
    int64_t comm_exposed_ns; /* comm \ compute */
    int64_t copy_ns;         /* u copy */
    int64_t idle_host_ns, idle_gap_ns;
    int64_t idle_other_ns;   /* idle for other reasons */
    int64_t wait_exposed_ns; /* wait \ compute */
    int64_t call_ns;         /* comm u call */
    int64_t call_exposed_ns; /* (comm u call) \ compute */
    int64_t covered_ns;      /* compute u comm u call */
};

enum pw_gpu_idle { PW_GPU_IDLE_NONE, PW_GPU_IDLE_HOST, PW_GPU_IDLE_GAP, PW_GPU_IDLE_OTHER };

/* What changed when an activity was added. */
struct pw_gpu_news {
    enum pw_gpu_idle idle; /* reason of the gap that the activity ended; NONE: it ended none */
    int64_t gap_start, gap_end;
    int64_t fresh_ns; /* for compute and copies: by how much it made compute u copy longer */
};

/* The state of the sweep. After pw_gputime_end() callers read `all`, from the first start to the
 * last end on the device, and `late`. */
struct pw_gputime {
    struct pw_gpu_window *windows; /* sorted, disjoint */
    /* number of windows; the window of the cursor; the window of the next gap */
    size_t n, at, gap_at;
    struct pw_gpu_window all;
    int64_t cursor, until[PW_GPU_KINDS], device_until;
    int64_t by_mask[1 << PW_GPU_KINDS]; /* ns of the window, up to the cursor, in which exactly
                                           these kinds were active */
    int64_t all_by_mask[1 << PW_GPU_KINDS];
    int began;    /* 1: an activity on the device was added */
    int64_t late; /* activities given out of order: they count only from the cursor on */
};

/* The caller sets start and end of the windows; their sums are complete after pw_gputime_end(). */
void pw_gputime_begin(struct pw_gputime *g, struct pw_gpu_window *windows, size_t n);
struct pw_gpu_news pw_gputime_add(struct pw_gputime *g, const struct pw_gpu_activity *activity);
void pw_gputime_end(struct pw_gputime *g);

#endif
