/* What the processes of a merge tell each other, of any size; see job.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/job.h"
#include "core/log.h"
#include "core/readlimit.h"

int pw_job_all_ok(const struct pw_job *job, int ok)
{
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, job->comm);
    return ok;
}

void pw_job_broadcast(const struct pw_job *job, void *bytes, size_t size, int root)
{
    enum { PIECE = 1 << 28 };
    for (size_t at = 0; at < size; at += PIECE)
        MPI_Bcast((char *)bytes + at, size - at < PIECE ? (int)(size - at) : PIECE, MPI_BYTE, root,
                  job->comm);
}

void pw_job_out_of_memory(const struct pw_job *job)
{
    if (job->process == 0)
        pw_error("cannot merge: %s", pw_readlimit_error(-ENOMEM));
    MPI_Finalize();
    exit(1);
}

/* One process after the other, so that counts and places need not fit into MPI's int. */
size_t pw_job_allgather(const struct pw_job *job, const void *mine, size_t count, size_t size,
                        void **all)
{
    uint64_t n = count, *counts = calloc((size_t)job->processes, sizeof(*counts));
    size_t total = 0, at = 0;
    if (!pw_job_all_ok(job, counts && (mine || !count)))
        pw_job_out_of_memory(job);
    MPI_Allgather(&n, 1, MPI_UINT64_T, counts, 1, MPI_UINT64_T, job->comm);
    for (int p = 0; p < job->processes; p++)
        total += (size_t)counts[p];
    char *items = malloc(total * size + 1);
    if (!pw_job_all_ok(job, items != NULL))
        pw_job_out_of_memory(job);
    for (int p = 0; p < job->processes; at += (size_t)counts[p++] * size) {
        if (p == job->process && count)
            memcpy(items + at, mine, count * size);
        pw_job_broadcast(job, items + at, (size_t)counts[p] * size, p);
    }
    free(counts);
    *all = items;
    return total;
}
