/* Gathers names and members of communicators, and adds up their collectives; see communicators.h.
 */
#include "aggregate/match/communicators.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sort.h"

/* A rank in a communicator. */
struct membership {
    uint64_t uid;
    int32_t rank, is_first; /* is_first: it is rank 0 of the communicator */
    char name[sizeof(pw_type_S64)];
};

static int by_uid_and_rank(const void *a, const void *b)
{
    const struct membership *x = a, *y = b;
    return x->uid != y->uid ? (x->uid > y->uid) - (x->uid < y->uid)
                            : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The wait of a collective, and the rank that the others waited for. */
struct late {
    int32_t rank;
    int64_t wait_ns;
};

static int by_rank(const void *a, const void *b)
{
    const struct late *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

void pw_communicator_list_ranks(const int32_t *ranks, size_t n, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0, end; i < n; i = end) {
        char span[32];
        for (end = i + 1; end < n && ranks[end] == ranks[end - 1] + 1;)
            end++;
        if (end - i > 1)
            snprintf(span, sizeof(span), "%s%" PRId32 "-%" PRId32, i ? "," : "", ranks[i],
                     ranks[end - 1]);
        else
            snprintf(span, sizeof(span), "%s%" PRId32, i ? "," : "", ranks[i]);
        const int is_last = end == n;
        const size_t room = size - used - (is_last ? 1 : sizeof(",…"));
        if (strlen(span) > room) {
            snprintf(out + used, size - used, "%s…", i ? "," : "");
            return;
        }
        memcpy(out + used, span, strlen(span) + 1);
        used += strlen(span);
    }
}

/* Finds the rank that the others waited for longest. Sorts `late`. */
static void find_latest(struct late *late, size_t n, struct pw_row_c_communicator *out)
{
    pw_sort(late, n, sizeof(*late), by_rank);
    for (size_t i = 0, end; i < n; i = end) {
        int64_t sum = 0;
        for (end = i; end < n && late[end].rank == late[i].rank; end++)
            sum += late[end].wait_ns;
        if (sum > out->late_wait_ns) {
            out->late_rank = late[i].rank;
            out->late_wait_ns = sum;
        }
    }
}

int pw_communicator_sum_up(const struct pw_instances *in, const struct pw_comm_group *comm,
                           struct pw_row_c_communicator *out)
{
    const size_t n = (size_t)(comm->collectives - comm->base);
    struct late *late = malloc((n + 1) * sizeof(*late));
    size_t timed = 0;
    int64_t wait_ns = 0;
    if (!late)
        return -ENOMEM;
    out->late_rank = -1;
    for (size_t i = 0; i < n; i++) {
        const struct pw_instance *one = &in->items[(size_t)comm->first + i];
        if (one->nranks != comm->size || one->mixed)
            continue;
        out->source = one->source;
        out->collectives++;
        out->bytes += one->bytes;
        if (one->untimed)
            continue;
        const int64_t wait = in->waits[(size_t)comm->first + i].sum_ns;
        late[timed++] = (struct late){pw_instance_blamed(one), wait};
        wait_ns += wait;
        out->transfer_ns += one->last_exit > one->last_enter ? one->last_exit - one->last_enter : 0;
    }
    find_latest(late, timed, out);
    free(late);
    out->wait_ns = timed ? wait_ns / comm->size : -1;
    out->late_wait_ns = timed ? out->late_wait_ns / comm->size : -1;
    out->transfer_ns = timed ? out->transfer_ns : -1;
    return 0;
}

/* Lists the ranks of this process in communicators that have collectives. Returns how many. */
static size_t list_memberships(const struct pw_job *job, struct membership *out)
{
    size_t n = 0;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        struct pw_texts texts;
        const int has_names = pw_input_texts(input, &texts) == 0;
        for (size_t c = 0; c < input->ncomms; c++) {
            const struct pw_row_comms *row = &input->comms[c];
            if (input->groups[c] < 0)
                continue;
            out[n] = (struct membership){row->uid, (int32_t)input->rank, row->my_rank == 0, ""};
            if (has_names && row->name < texts.n)
                snprintf(out[n].name, sizeof(out[n].name), "%s", texts.v[row->name]);
            n++;
        }
        if (has_names)
            free(texts.v);
    }
    return n;
}

/* Sets the name and the ranks. The memberships from `first` on are those of the communicator. */
static int describe(const struct membership *first, size_t n, struct pw_row_c_communicator *row)
{
    int32_t *ranks = malloc((n + 1) * sizeof(*ranks));
    if (!ranks)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        ranks[i] = first[i].rank;
        if (first[i].name[0] && (first[i].is_first || !row->name[0]))
            memcpy(row->name, first[i].name, sizeof(row->name));
    }
    pw_communicator_list_ranks(ranks, n, row->ranks, sizeof(row->ranks));
    free(ranks);
    return 0;
}

static int by_wait(const void *a, const void *b)
{
    const struct pw_row_c_communicator *x = a, *y = b;
    if (x->wait_ns != y->wait_ns)
        return x->wait_ns < y->wait_ns ? 1 : -1;
    return (x->comm_uid > y->comm_uid) - (x->comm_uid < y->comm_uid);
}

static int64_t longest_run(const struct pw_world *world)
{
    int64_t longest = -1;
    for (int64_t r = 0; r < world->nranks; r++)
        if (world->ranks[r].run_ns > longest)
            longest = world->ranks[r].run_ns;
    return longest;
}

static int make_rows(const struct pw_instances *in, int64_t run_ns, const struct membership *all,
                     size_t nall, struct pw_row_c_communicator **rows)
{
    int err = 0;
    size_t at = 0;
    *rows = calloc(in->ncomms + 1, sizeof(**rows));
    if (!*rows)
        return -ENOMEM;
    for (size_t c = 0; c < in->ncomms && !err; c++) {
        struct pw_row_c_communicator *row = &(*rows)[c];
        size_t first, end;
        row->comm_uid = in->comms[c].uid;
        row->nranks = in->comms[c].size;
        while (at < nall && all[at].uid < row->comm_uid)
            at++;
        for (first = at, end = at; end < nall && all[end].uid == row->comm_uid;)
            end++;
        at = end;
        err = describe(&all[first], end - first, row);
        err = err ? err : pw_communicator_sum_up(in, &in->comms[c], row);
        row->wait_share =
            row->wait_ns >= 0 && run_ns > 0 ? (double)row->wait_ns / (double)run_ns : -1;
    }
    pw_sort(*rows, in->ncomms, sizeof(**rows), by_wait);
    return err;
}

int pw_communicators_make(const struct pw_job *job, const struct pw_instances *in,
                          struct pw_row_c_communicator **rows, size_t *n)
{
    size_t most = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        most += job->inputs[i].ncomms;
    struct membership *mine = calloc(most + 1, sizeof(*mine));
    if (!pw_procs_all_ok(&job->procs, mine != NULL))
        pw_procs_out_of_memory(&job->procs);
    void *all = NULL;
    const size_t nall =
        pw_procs_allgather(&job->procs, mine, list_memberships(job, mine), sizeof(*mine), &all);
    free(mine);
    int err = 0;
    *rows = NULL;
    *n = 0;
    if (job->procs.process == 0) {
        pw_sort(all, nall, sizeof(struct membership), by_uid_and_rank);
        err = make_rows(in, longest_run(&job->world), all, nall, rows);
        *n = err ? 0 : in->ncomms;
    }
    free(all);
    return err;
}
