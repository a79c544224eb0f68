/* Finds the bounds of forward and backward in a rank's steps from its operators: from those that
 * the user has named (FP_POINT and BP_POINT of MindSpore's and MindInsight's users), or, in steps
 * without marked phases, from the first forward and the last backward operator. Filled by
 * ranktrace.c (ranges) and gputrace.c (kernels), and applied by matrix.c, one rank at a time. No
 * MPI. */
#ifndef PW_AGGREGATE_SECONDPASS_POINTS_H
#define PW_AGGREGATE_SECONDPASS_POINTS_H

#include "aggregate/input/job.h"

/* The user's names; "": none was given. */
struct pw_point_names {
    char first[1024]; /* the first forward operator */
    char last[1024];  /* the last backward operator */
};

/* What the text of a name makes its operator; bits. */
enum pw_point_role {
    PW_POINT_FIRST = 1,    /* the user's first forward operator */
    PW_POINT_LAST = 2,     /* the user's last backward operator */
    PW_POINT_FORWARD = 4,  /* a forward operator by its scope */
    PW_POINT_BACKWARD = 8, /* a backward operator by its scope, or as PyTorch names them */
};

/* First start and last end of operators in a step; INT64_MAX, INT64_MIN: there was none. */
struct pw_point {
    int64_t first, last;
};

struct pw_points {
    const struct pw_input *input;
    const struct pw_point_names *names;
    uint8_t *roles; /* [nroles] bits of enum pw_point_role of each row of /strings */
    size_t nroles;
    struct pw_texts texts;          /* of the file; empty when it has no operators */
    struct pw_point *host, *device; /* [input->nsteps] of ranges, of kernels */
    unsigned on_device;             /* PW_POINT_FIRST, PW_POINT_LAST: the device has operators */
    ptrdiff_t near;
};

unsigned pw_point_roles(const char *name, const struct pw_point_names *names);

/* Reads the names of the file. Returns 0 or -errno; call _fini() in either case. */
int pw_points_init(struct pw_points *points, const struct pw_input *input,
                   const struct pw_point_names *names);

void pw_points_add_range(struct pw_points *points, const struct pw_row_range *range);
void pw_points_add_kernel(struct pw_points *points, const struct pw_row_kernel *kernel);

/* Steps in which the named operators did not run: how many, and which, "3-7, 9". */
struct pw_points_lack {
    int64_t steps, of;
    char list[160];
};

/* Sets interval, fp_bp and tail of the steps (job's rows). lack[0] is of the first forward
 * operator, lack[1] of the last backward operator. Returns 0 or -ENOMEM. */
int pw_points_apply(const struct pw_points *points, const struct pw_world *world,
                    struct pw_row_c_step_trace *steps, struct pw_points_lack lack[2]);

/* Adds what lacks to the job's notes. */
void pw_points_note(struct pw_job *job, int64_t rank, const struct pw_point_names *names,
                    const struct pw_points_lack lack[2]);

/* Prints a line for each named operator that steps of some rank lack, from the gathered notes. */
void pw_points_say(const struct pw_job *job);

void pw_points_fini(struct pw_points *points);

#endif
