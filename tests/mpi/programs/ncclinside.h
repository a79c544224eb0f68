/* What ncclhost.c and ncclthreads.c share. */
#ifndef PW_TEST_NCCLINSIDE_H
#define PW_TEST_NCCLINSIDE_H

#include "ncclhost.h"

union descr {
    struct pw_nccl_descr_v1 v1;
    struct pw_nccl_descr_v2 v2;
    struct pw_nccl_descr_v3 v3;
    struct pw_nccl_descr_v4 v4;
    struct pw_nccl_descr_v6 v6;
};

/* The handle that the plugin gives the event; keeps what it was when the plugin does not set it. */
void *host_start(struct host_comm *comm, void *description);
void host_stop(struct host_comm *comm, void *handle);

/* What all descriptions begin with. */
void host_head(const struct host_comm *comm, union descr *d, uint64_t type, void *parent);

#endif
