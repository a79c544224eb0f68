/* Sends the items of one process after another, in pieces that MPI's int can count; see procs.h. */
#include "aggregate/input/procs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/log.h"
#include "core/readlimit.h"

int pw_procs_all_ok(const struct pw_procs *procs, int ok)
{
    pw_ex_allreduce(PW_EX_IN_PLACE, &ok, 1, PW_EX_INT, PW_EX_MIN, procs->comm);
    return ok;
}

int pw_procs_worst(const struct pw_procs *procs, int err)
{
    pw_ex_allreduce(PW_EX_IN_PLACE, &err, 1, PW_EX_INT, PW_EX_MIN, procs->comm);
    return err;
}

int pw_procs_from_root(const struct pw_procs *procs, int value)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    pw_ex_request request;
    int done = 0;
    pw_ex_ibcast(&value, 1, PW_EX_INT, 0, procs->comm, &request);
    for (pw_ex_test(&request, &done); !done; pw_ex_test(&request, &done))
        nanosleep(&pause, NULL);
    return value;
}

void pw_procs_broadcast(const struct pw_procs *procs, void *bytes, size_t size, int root)
{
    enum { PIECE = 1 << 28 };
    for (size_t at = 0; at < size; at += PIECE)
        pw_ex_bcast((char *)bytes + at, size - at < PIECE ? (int)(size - at) : PIECE, PW_EX_BYTE,
                    root, procs->comm);
}

void pw_procs_out_of_memory(const struct pw_procs *procs)
{
    if (procs->process == 0)
        pw_error("cannot merge: %s", pw_readlimit_remedy(-ENOMEM));
    pw_ex_finalize();
    exit(1);
}

/* Broadcasts from one process after another, so that counts and offsets need not fit into MPI's
 * int. */
size_t pw_procs_allgather(const struct pw_procs *procs, const void *mine, size_t count, size_t size,
                          void **all)
{
    uint64_t n = count, *counts = calloc((size_t)procs->processes, sizeof(*counts));
    size_t total = 0, at = 0;
    if (!pw_procs_all_ok(procs, counts && (mine || !count)))
        pw_procs_out_of_memory(procs);
    pw_ex_allgather(&n, 1, PW_EX_UINT64_T, counts, 1, PW_EX_UINT64_T, procs->comm);
    for (int p = 0; p < procs->processes; p++)
        total += (size_t)counts[p];
    char *items = malloc(total * size + 1);
    if (!pw_procs_all_ok(procs, items != NULL))
        pw_procs_out_of_memory(procs);
    for (int p = 0; p < procs->processes; at += (size_t)counts[p++] * size) {
        if (p == procs->process && count)
            memcpy(items + at, mine, count * size);
        pw_procs_broadcast(procs, items + at, (size_t)counts[p] * size, p);
    }
    free(counts);
    *all = items;
    return total;
}
