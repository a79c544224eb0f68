/* What the GPUs of a rank did, and how near they came to their limits. Called by
 * aggregate/findings, aggregate/gpu and report/content; cause.h uses the clocks. Pure arithmetic:
 * no I/O, no allocation; the caller reads events and samples, and gives the memory. */
#ifndef PW_GPU_H
#define PW_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

/* How a rank's GPUs spent their time: computed in one sweep over their activities, which are given
 * in the order of their starts. Pure arithmetic: no I/O, no allocation; the caller gives the
 * windows. docs/metrics.md, "GPU time", has the definitions.
 *
 * All GPUs of a rank count as one device, which is busy when anything runs on any of them. Between
 * activities it is idle. The reason is taken from the activity that ends the gap. If it was
 * launched after the gap began, the host was late. If it was launched earlier, a short gap is the
 * normal distance between two kernels; in a long gap the activity waited for something else, such
 * as another stream. */

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

/* Sums up the samples of one GPU: its clocks and the reasons that lowered them, memory, power,
 * temperature, and NVML's metrics (GPM). Sums only: no I/O, no allocation; the caller reads the
 * samples and keeps the sums. */

/* Bits of clock_reasons as NVML numbers them. */
enum {
    PW_CLOCKS_IDLE = 0x1,
    PW_CLOCKS_POWER_CAP = 0x4,
    PW_CLOCKS_HARDWARE = 0x8,
    PW_CLOCKS_THERMAL = 0x20,
    PW_CLOCKS_HARDWARE_THERMAL = 0x40,
    PW_CLOCKS_POWER_BRAKE = 0x80,
    PW_CLOCKS_SLOWED = PW_CLOCKS_POWER_CAP | PW_CLOCKS_HARDWARE | PW_CLOCKS_THERMAL |
                       PW_CLOCKS_HARDWARE_THERMAL | PW_CLOCKS_POWER_BRAKE,
    PW_CLOCKS_BITS = 9,
};

/* {0}: no samples yet. Samples of an idle GPU, or without a clock, do not count. */
struct pw_gpu_clocks {
    int64_t samples, mhz, slowed; /* number of samples; sum of clocks, MHz; number of samples slowed
                                     by heat or power */
    int64_t by_bit[PW_CLOCKS_BITS];
};

void pw_gpu_clocks_add(struct pw_gpu_clocks *clocks, const struct pw_row_gpu *sample);

/* Mean clock, MHz; -1 without samples. */
double pw_gpu_clocks_mean(const struct pw_gpu_clocks *clocks);

/* The bits of PW_CLOCKS_SLOWED that are set in at least a tenth of the samples. */
uint64_t pw_gpu_clocks_reasons(const struct pw_gpu_clocks *clocks);

/* The first of the reasons in words, such as "heat"; "" when there is none of PW_CLOCKS_SLOWED. */
const char *pw_gpu_clocks_word(uint64_t reasons);

/* All samples of a GPU over the run. */

enum { PW_GPM_METRICS = 12 };

/* A weighted sum over samples, and the sum of the weights. */
struct pw_gpu_mean {
    double sum, weight;
};

/* A counter that only grows: its first and its last value; both 0: it was never read. */
struct pw_gpu_counter {
    int64_t first, last;
    int is_known;
};

/* {0}: no samples yet. */
struct pw_gpu_samples {
    struct pw_gpu_clocks clocks;
    struct pw_gpu_mean power_mw, gpm[PW_GPM_METRICS];
    int64_t memory_most, power_most_mw, temperature_most; /* 0: never read */
    int64_t gpm_ns;
    struct pw_gpu_counter power_capped, heat, brake;
};

void pw_gpu_samples_add(struct pw_gpu_samples *samples, const struct pw_row_gpu *sample);

/* The weighted mean; -1: not known. */
double pw_gpu_mean_value(const struct pw_gpu_mean *mean);

/* Fills the members of *out that come from samples; -1 when no sample has the value. */
void pw_gpu_samples_fill(const struct pw_gpu_samples *samples, struct pw_row_c_gpu_device *out);

/* The limits of a GPU, and how near a run came to them: peak FLOP/s, MFU, the nearest roof, and
 * occupancy. Pure arithmetic: no I/O, no allocation. docs/metrics.md has the formulas,
 * docs/method.md the peaks. */

/* Peak FLOP/s of dense matrix products in a type: "fp64", "fp32", "tf32", "bf16", "fp16", "fp8" or
 * "fp4". -1 when the GPU is not in the table, lacks that type, or is a part of a GPU, with fewer
 * multiprocessors (`multiprocessors` below 1: not known; a whole GPU is assumed). */
double pw_peak_flops(const char *name, int32_t multiprocessors, const char *type);

/* ---- achieved FLOP/s, and their share of the peak (MFU) ---- */

/* The most FLOPs that a program may give for a step; larger numbers are ignored. */
#define PW_MOST_FLOPS 1e30

/* The options of the merge about the model and its GPUs; 0: not given. */
struct pw_flops_given {
    double peak;     /* FLOP/s of a GPU, or of a rank without one */
    double per_step; /* FLOPs that the model needs on each rank in a step */
    char type[8];    /* data type of the FLOPs, such as "bf16" */
};

/* The sums of one rank over its steps; {0} to begin with. */
struct pw_mfu {
    double flops;
    int64_t ns, steps;
};

/* Adds a step; does nothing when either value is impossible. */
void pw_mfu_add(struct pw_mfu *mfu, double flops, int64_t ns);

/* FLOP/s; -1: there was no step. */
double pw_mfu_rate(const struct pw_mfu *mfu);

/* Returns rate / peak; -1 when either is not known. */
double pw_mfu_share(double rate, double peak);

/* ---- the nearest roof: the limit of a unit of the GPU, or of its memory ---- */

/* Shares of the time, 0..1, as NVML measures them (GPM); -1: not known. */
struct pw_roofline_input {
    double engine; /* share of the time in which the GPU had work */
    double tensor, fp64, fp32, fp16, dram;
};

/* The nearest roof, and how near it is while the GPU has work, 0..1. */
struct pw_roof {
    const char *name; /* "tensor cores", "fp64", "fp32", "fp16" or "memory"; NULL: not known */
    double share;
};

/* Returns a name of NULL when the memory, or all units, are not known, or the GPU had no work. */
struct pw_roof pw_roofline_nearest(const struct pw_roofline_input *in);

/* ---- CUDA's theoretical occupancy: how much of a multiprocessor the blocks of a kernel can fill
 * ---- */

/* Returns the number of warps of the kernel that fit on a multiprocessor (limited by threads,
 * blocks, registers and shared memory) / the number that it can hold, 0..1. -1 when the limits, the
 * launch or the GPU's generation are not known, or no block fits. */
double pw_occupancy(const struct pw_row_device *device, const struct pw_row_kernel *kernel);

#endif
