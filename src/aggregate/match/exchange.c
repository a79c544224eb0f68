/* Sorts items by destination and has MPI swap them; see exchange.h. */
#include "aggregate/match/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int all_ok(const struct pw_job *job, int ok)
{
    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, job->comm);
    return ok;
}

int *pw_exchange_readers(const struct pw_job *job)
{
    int *readers = malloc(sizeof(*readers) * (size_t)job->nranks);
    if (!all_ok(job, readers != NULL)) {
        free(readers);
        return NULL;
    }
    for (int64_t r = 0; r < job->nranks; r++)
        readers[r] = -1;
    for (size_t i = 0; i < job->ninputs; i++)
        readers[job->inputs[i].rank] = job->process;
    MPI_Allreduce(MPI_IN_PLACE, readers, (int)job->nranks, MPI_INT, MPI_MAX, job->comm);
    return readers;
}

/* How many items go to each process or come from it, and where they begin. [processes] each. */
struct traffic {
    int *counts, *starts, *in_counts, *in_starts, *next;
};

static size_t count_items(const struct pw_job *job, struct traffic *t, const int *destination,
                          size_t n)
{
    int total = 0;
    for (size_t i = 0; i < n; i++)
        if (destination[i] >= 0)
            t->counts[destination[i]]++;
    MPI_Alltoall(t->counts, 1, MPI_INT, t->in_counts, 1, MPI_INT, job->comm);
    for (int q = 0; q < job->processes; q++) {
        t->starts[q] = t->next[q] = q ? t->starts[q - 1] + t->counts[q - 1] : 0;
        t->in_starts[q] = total;
        total += t->in_counts[q];
    }
    return (size_t)total;
}

static void swap(const struct pw_job *job, const struct traffic *t, const char *out, size_t size,
                 char *in)
{
    MPI_Datatype type;
    MPI_Type_contiguous((int)size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Alltoallv(out, t->counts, t->starts, type, in, t->in_counts, t->in_starts, type, job->comm);
    MPI_Type_free(&type);
}

int pw_exchange(const struct pw_job *job, const void *items, size_t n, size_t size,
                const int *destination, void **arrived, size_t *count)
{
    size_t p = (size_t)job->processes;
    int *numbers = calloc(5 * p, sizeof(*numbers));
    char *out = malloc(n * size + 1), *in = NULL;
    int ok = all_ok(job, numbers && out);
    if (ok) {
        struct traffic t = {numbers, numbers + p, numbers + 2 * p, numbers + 3 * p,
                            numbers + 4 * p};
        size_t total = count_items(job, &t, destination, n);
        in = malloc(total * size + 1);
        for (size_t i = 0; i < n; i++)
            if (destination[i] >= 0)
                memcpy(out + (size_t)t.next[destination[i]]++ * size,
                       (const char *)items + i * size, size);
        ok = all_ok(job, in != NULL);
        if (ok) {
            swap(job, &t, out, size, in);
            *arrived = in;
            *count = total;
        }
    }
    free(numbers);
    free(out);
    if (!ok)
        free(in);
    return ok ? 0 : -ENOMEM;
}
