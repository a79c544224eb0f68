/* Which of a GPU's roofs is nearest: what its units can compute, or what its memory can move; see
 * docs/metrics.md. */
#ifndef PW_ANALYSIS_ROOFLINE_H
#define PW_ANALYSIS_ROOFLINE_H

/* Shares of the time, 0..1, as NVML measures them (GPM); -1: not known. */
struct pw_roofline_input {
    double engine; /* in which the GPU had work */
    double tensor, fp64, fp32, fp16, dram;
};

/* The nearest roof, and how near it is while the GPU has work, 0..1. */
struct pw_roof {
    const char *name; /* "tensor cores", "fp64", "fp32", "fp16" or "memory"; NULL: not known */
    double share;
};

/* Not known where the memory is not, or no unit is, or the GPU had no work. */
struct pw_roof pw_roofline_nearest(const struct pw_roofline_input *in);

#endif
