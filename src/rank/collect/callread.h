/* Reads from a rank's journal in which order the rank called the collectives of a communicator of
 * MPI, of a process group on Gloo or of MindSpore, or of NCCL.
 * Called by run/ordercheck.c, also while the journal is written. Tool code; only reads, and
 * journals may be damaged anywhere. */
#ifndef PW_RANK_COLLECT_CALLREAD_H
#define PW_RANK_COLLECT_CALLREAD_H

#include <stddef.h>

#include "core/callorder.h"
#include "rank/ring/record.h"

/* Collectives with the numbers first to last, and the creations of communicators between them. */
struct pw_callread_wanted {
    uint64_t comm_uid;
    int64_t first, last;
};

/* The signature of PW_REC_TORCH_CALL, PW_REC_MCCL_CALL or PW_REC_NCCL_CALL. */
uint32_t pw_callread_sign(const struct pw_record *record);

/* Reads the calls, sorted by their start; *calls is freed by the caller, with free(). Calls that
 * were not recorded are missing. Returns 0, or -errno. */
int pw_callread(const char *journal, const struct pw_callread_wanted *wanted,
                struct pw_ordered_call **calls, size_t *n);

#endif
