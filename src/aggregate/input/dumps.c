/* Gathers what dumps after a hang have; see dumps.h. */
#include "aggregate/input/dumps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/missing.h"
#include "core/h5/h5file.h"

static int is_dump(const char *imported)
{
    return strcmp(imported, "flight") == 0;
}

/* Whether an earlier input of this process has told the members of the communicator. */
static int is_told(const struct pw_job *job, size_t input, uint64_t uid)
{
    for (size_t i = 0; i < input; i++)
        for (size_t m = 0; m < job->inputs[i].nopen_members; m++)
            if (job->inputs[i].open_members[m].uid == uid)
                return 1;
    return 0;
}

static size_t gather_members(const struct pw_job *job, struct pw_missing_member **all)
{
    size_t most = 0, n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].nopen_members;
    struct pw_missing_member *mine = malloc((most + 1) * sizeof(*mine));
    for (size_t i = 0; mine && i < job->ninputs; i++) {
        uint64_t uid = 0;
        int is_new = 0;
        for (size_t m = 0; m < job->inputs[i].nopen_members; m++) {
            const struct pw_missing_member *member = &job->inputs[i].open_members[m];
            if (m == 0 || member->uid != uid)
                is_new = !is_told(job, i, member->uid);
            uid = member->uid;
            if (is_new)
                mine[n++] = *member;
        }
    }
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    return n;
}

static size_t gather_calls(const struct pw_job *job, struct pw_row_c_open_call **all)
{
    size_t n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].nopen_calls;
    struct pw_row_c_open_call *mine = malloc((n + 1) * sizeof(*mine));
    n = 0;
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t k = 0; k < job->inputs[i].nopen_calls; k++)
            mine[n++] = job->inputs[i].open_calls[k];
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    return n;
}

static int is_open(const struct pw_row_c_open_call *calls, size_t n, uint64_t uid)
{
    for (size_t i = 0; i < n; i++)
        if (calls[i].comm_uid == uid)
            return 1;
    return 0;
}

/* How far each rank is on the communicators of the open calls. */
static size_t gather_comms(const struct pw_job *job, const struct pw_missing_input *in,
                           struct pw_missing_comm **all)
{
    size_t most = 0, n = 0;
    void *gathered;
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].ncomms;
    struct pw_missing_comm *mine = malloc((most + 1) * sizeof(*mine));
    for (size_t i = 0; mine && i < job->ninputs; i++)
        for (size_t c = 0; c < job->inputs[i].ncomms; c++) {
            const struct pw_row_comms *comm = &job->inputs[i].comms[c];
            if (is_open(in->calls, in->ncalls, comm->uid))
                mine[n++] =
                    (struct pw_missing_comm){comm->uid, job->inputs[i].rank, comm->collectives};
        }
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &gathered);
    free(mine);
    *all = gathered;
    return n;
}

static uint8_t *list_dumps(const struct pw_world *world)
{
    uint8_t *dumps = calloc((size_t)world->nranks + 1, sizeof(*dumps));
    for (int64_t r = 0; dumps && r < world->nranks; r++)
        dumps[r] = (uint8_t)(!world->ranks[r].present ? PW_DUMP_NONE
                             : world->ranks[r].events ? PW_DUMP_FULL
                                                      : PW_DUMP_EMPTY);
    return dumps;
}

int pw_dumps_find(const struct pw_job *job, struct pw_row_c_hang **rows, size_t *n)
{
    struct pw_row_c_open_call *calls = NULL;
    struct pw_missing_input in = {.nranks = (size_t)job->world.nranks};
    int err = 0;
    *rows = NULL;
    *n = 0;
    if (!is_dump(job->world.imported))
        return 0;
    in.ncalls = gather_calls(job, &calls);
    in.calls = calls;
    in.nmembers = gather_members(job, &in.members);
    in.ncomms = gather_comms(job, &in, &in.comms);
    uint8_t *dumps = list_dumps(&job->world);
    in.dumps = dumps;
    if (job->procs.process == 0)
        err = dumps ? pw_missing_find(&in, rows, n) : -ENOMEM;
    free(dumps);
    free(calls);
    free(in.members);
    free(in.comms);
    return pw_procs_worst(&job->procs, err);
}
