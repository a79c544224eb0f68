/* Where the steps of a job that marks none begin, by what its lowest rank calls again and again. */
#ifndef PW_AGGREGATE_STEPS_BOUNDARIES_H
#define PW_AGGREGATE_STEPS_BOUNDARIES_H

#include "aggregate/input/job.h"

/* As all processes know it. */
struct pw_boundaries {
    uint64_t uid; /* of the communicator whose collectives they are, 0: times */
    size_t n;
    int64_t *at;    /* [n] ascending: numbers of collectives, or cluster times */
    int is_first;   /* times: the rank had communicated in the iteration before at most */
    double alike;   /* share of usual iterations; 0: slices */
    char what[144]; /* the call that an iteration begins with, and what only some have; or "" */
};

/* Of the rank of this file; n 0 where nothing comes again and again. */
struct pw_boundaries pw_boundaries_find(const struct pw_job *job, struct pw_input *input);

#endif
