/* What a rank's GPUs did with their time, from their activities in the order of their starts, in
 * one sweep. Called by aggregate/gpu. Pure arithmetic: no I/O, no allocation; the caller gives the
 * windows. docs/metrics.md, "GPU time", has the definitions.
 *
 * All GPUs of a rank count as one: a time is busy when anything runs on any of them. Between
 * activities the device is idle. The activity that ends the gap says why: it was launched after the
 * gap began (the host is late), or it was launched before and the gap is short (the time from one
 * kernel to the next), or it was launched before and waited for something else, such as another
 * stream. */
#ifndef PW_ANALYSIS_GPUTIME_H
#define PW_ANALYSIS_GPUTIME_H

#include <stddef.h>
#include <stdint.h>

/* A shorter gap, whose end was launched in time, is the normal distance between two kernels. */
enum { PW_GPU_GAP_NS = 30000 };

enum pw_gpu_kind {
    PW_GPU_COMPUTE, /* kernels but NCCL's */
    PW_GPU_COMM,    /* NCCL's kernels */
    PW_GPU_COPY,    /* copies and memsets */
    PW_GPU_DEVICE_KINDS,
    PW_GPU_WAIT = PW_GPU_DEVICE_KINDS, /* the rank waits for others in a communication operation */
    PW_GPU_CALL,                       /* communication operations, on the device or not */
    PW_GPU_KINDS
};

struct pw_gpu_activity {
    int64_t start, end, launch; /* launch: -1 where it is not known; ns, one clock */
    enum pw_gpu_kind kind;
    int32_t device; /* -1: none, it is the host's */
};

/* The sums of the sets of time named, inside a window; u: union, \: without. */
struct pw_gpu_window {
    int64_t start, end;
    int64_t busy_ns;         /* compute u comm u copy */
    int64_t compute_ns;      /* u compute */
    int64_t comm_ns;         /* u comm */
    int64_t comm_exposed_ns; /* comm \ compute */
    int64_t copy_ns;         /* u copy */
    int64_t idle_host_ns, idle_gap_ns;
    int64_t idle_other_ns;   /* the rest of the time that is not busy */
    int64_t wait_exposed_ns; /* wait \ compute */
    int64_t call_ns;         /* comm u call */
    int64_t call_exposed_ns; /* (comm u call) \ compute */
    int64_t covered_ns;      /* compute u comm u call */
};

enum pw_gpu_idle { PW_GPU_IDLE_NONE, PW_GPU_IDLE_HOST, PW_GPU_IDLE_GAP, PW_GPU_IDLE_OTHER };

/* What an activity has brought. */
struct pw_gpu_news {
    enum pw_gpu_idle idle; /* of the gap that it ended, if any */
    int64_t gap_start, gap_end;
    int64_t fresh_ns; /* of compute and copies: how much longer compute u copy is */
};

/* Callers read `all` (from the first start to the last end of what ran on the device) and `late`
 * after the end. */
struct pw_gputime {
    struct pw_gpu_window *windows; /* sorted, disjoint */
    size_t n, at, gap_at;          /* the window of the cursor, and of the next gap */
    struct pw_gpu_window all;
    int64_t cursor, until[PW_GPU_KINDS], device_until;
    int64_t by_mask[1 << PW_GPU_KINDS]; /* ns of the window so far in which these kinds went on */
    int64_t all_by_mask[1 << PW_GPU_KINDS];
    int began;    /* something has run on the device */
    int64_t late; /* activities that began before others given earlier: they count from there on */
};

/* `windows` have their start and end; their sums are filled in until pw_gputime_end(). */
void pw_gputime_begin(struct pw_gputime *g, struct pw_gpu_window *windows, size_t n);
struct pw_gpu_news pw_gputime_add(struct pw_gputime *g, const struct pw_gpu_activity *activity);
void pw_gputime_end(struct pw_gputime *g);

#endif
