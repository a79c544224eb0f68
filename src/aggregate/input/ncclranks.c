/* Joins the data of all rank files about the communicators of NCCL and HCCL; see ncclranks.h. */
#include "aggregate/input/ncclranks.h"

#include <errno.h>
#include <stdlib.h>

#include "core/ops.h"
#include "core/sort.h"

/* Flag in first_member of a row, which NCCL's communicators do not use otherwise. */
enum { SIZE_IS_FOUND = 1 };

static int by_place(const void *a, const void *b)
{
    const struct pw_comm_rank *x = a, *y = b;
    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static size_t list_own(const struct pw_job *job, struct pw_comm_rank *out)
{
    size_t n = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        for (size_t c = 0; c < job->inputs[i].ncomms; c++) {
            const struct pw_row_comms *row = &job->inputs[i].comms[c];
            if (!pw_source_is_on_device(row->source) || row->my_rank < 0)
                continue;
            if (out)
                out[n] =
                    (struct pw_comm_rank){row->uid, row->my_rank, (int32_t)job->inputs[i].rank};
            n++;
        }
    return n;
}

static const struct pw_comm_rank *find(const struct pw_input *input, uint64_t uid, int32_t rank)
{
    const struct pw_comm_rank key = {uid, rank, -1};
    return input->ncomm_ranks
               ? bsearch(&key, input->comm_ranks, input->ncomm_ranks, sizeof(key), by_place)
               : NULL;
}

/* Sets the size of a communicator to the number of ranks with a file, which are 0 .. n-1. */
static void find_size(const struct pw_input *input, struct pw_row_comms *comm)
{
    int32_t size = 0;
    while (find(input, comm->uid, size))
        size++;
    comm->size = size;
    comm->first_member = SIZE_IS_FOUND;
}

int pw_ncclranks_make(struct pw_job *job)
{
    struct pw_comm_rank *mine = malloc(sizeof(*mine) * (list_own(job, NULL) + 1));
    int all_ok = pw_procs_all_ok(&job->procs, mine != NULL);
    if (!all_ok) {
        free(mine);
        return -ENOMEM;
    }
    void *all;
    size_t n = pw_procs_allgather(&job->procs, mine, list_own(job, mine), sizeof(*mine), &all);
    free(mine);
    job->comm_ranks = all;
    pw_sort(job->comm_ranks, n, sizeof(*job->comm_ranks), by_place);
    for (size_t i = 0; i < job->ninputs; i++) {
        struct pw_input *input = &job->inputs[i];
        input->comm_ranks = job->comm_ranks;
        input->ncomm_ranks = n;
        for (size_t c = 0; c < input->ncomms; c++) {
            if (!pw_source_is_on_device(input->comms[c].source))
                continue;
            input->comms[c].first_member = 0;
            if (input->comms[c].size == 0)
                find_size(input, &input->comms[c]);
        }
    }
    return 0;
}

static int64_t times(int64_t bytes, int32_t size)
{
    int64_t product;
    return __builtin_mul_overflow(bytes, (int64_t)size, &product) ? bytes : product;
}

void pw_ncclranks_complete(const struct pw_input *input, struct pw_row_comm_event *event)
{
    if (!pw_source_is_on_device(event->source) || event->comm < 0 ||
        (size_t)event->comm >= input->ncomms)
        return;
    const struct pw_row_comms *comm = &input->comms[event->comm];
    if (event->peer >= 0) {
        const struct pw_comm_rank *found = find(input, comm->uid, event->peer);
        event->peer = found ? found->world_rank : -1;
    }
    if (comm->first_member != SIZE_IS_FOUND)
        return;
    if (event->op == PW_OP_Allgather)
        event->recv_bytes = times(event->recv_bytes, comm->size);
    if (event->op == PW_OP_Reduce_scatter_block)
        event->sent_bytes = times(event->sent_bytes, comm->size);
}
