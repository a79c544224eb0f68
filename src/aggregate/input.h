/* One rank file as the merge sees it: what must be known of it at all times, read and checked once.
 * Its events are read in blocks when they are needed. */
#ifndef PW_AGGREGATE_INPUT_H
#define PW_AGGREGATE_INPUT_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

struct pw_input {
    char path[4352];
    hid_t file;
    int64_t rank, world_size, complete, dropped, exit_code, exit_signal;
    int64_t start_unix_ns, end_unix_ns;
    char hostname[64], job[64], clock_domain[128], clock_sync[16], command[512];
    struct pw_row_clock
        *knots; /* empty until the merge says how the domain relates to the cluster */
    size_t nknots;
    int32_t domain;            /* its clock's, as the job numbers them */
    int aligned;               /* its clock is known relative to the cluster clock */
    struct pw_row_step *steps; /* sorted by start */
    size_t nsteps;
    struct pw_row_comms *comms;
    size_t ncomms;
    int64_t first_ns, last_ns; /* of the communication, local */
    int64_t events;            /* rows of /events/comm and /events/range */
    double event_cost_ns, sync_ns;
};

/* Opens and checks a rank file. 0, or -errno with one sentence in `problem`; nothing stays open
 * then. */
int pw_input_open(const char *path, struct pw_input *out, char *problem, size_t size);

void pw_input_close(struct pw_input *input);

/* Cluster time of a local time of this rank. */
int64_t pw_input_time(const struct pw_input *input, int64_t local_ns);

/* Error bound over the whole run, ns; -1 when the clock is not aligned. */
int64_t pw_input_clock_error(const struct pw_input *input);

/* Row of `steps` in which `local_ns` lies, or -1. */
ptrdiff_t pw_input_step_at(const struct pw_input *input, int64_t local_ns);

#endif
