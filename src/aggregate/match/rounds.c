/* Chooses the cuts from the index of each input's messages; see rounds.h. */
#include "aggregate/match/rounds.h"

#include <errno.h>
#include <stdlib.h>

/* Saturates: what a damaged file says may be any number. */
static int64_t add(int64_t a, int64_t b)
{
    if (a == INT64_MIN || a == INT64_MAX)
        return a;
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    return b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b;
}

int64_t pw_rounds_to_local(const struct pw_rounds *rounds, const struct pw_input *input,
                           int64_t time)
{
    return add(time, rounds->origins[input->domain]);
}

int64_t pw_rounds_from_local(const struct pw_rounds *rounds, const struct pw_input *input,
                             int64_t local)
{
    return add(local, -rounds->origins[input->domain]);
}

int pw_rounds_begin(struct pw_rounds *rounds, const struct pw_job *job)
{
    *rounds = (struct pw_rounds){.from = INT64_MIN, .to = INT64_MIN};
    rounds->origins = malloc(sizeof(int64_t) * ((size_t)job->world.ndomains + 1));
    rounds->ends = malloc(sizeof(int64_t) * ((size_t)job->world.nranks + 1));
    int ok = rounds->origins && rounds->ends, all_ok;
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, job->procs.comm);
    if (!all_ok)
        return -ENOMEM;
    for (int32_t d = 0; d < job->world.ndomains; d++)
        rounds->origins[d] = INT64_MAX;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        int64_t *origin = &rounds->origins[input->domain];
        if (input->event_rows.rows && input->first_ns < *origin)
            *origin = input->first_ns > -INT64_MAX ? input->first_ns : -INT64_MAX;
    }
    MPI_Allreduce(MPI_IN_PLACE, rounds->origins, job->world.ndomains, MPI_INT64_T, MPI_MIN,
                  job->procs.comm);
    for (int64_t r = 0; r < job->world.nranks; r++)
        rounds->ends[r] = INT64_MIN;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        if (input->messages)
            rounds->ends[input->rank] =
                pw_rounds_from_local(rounds, input, input->begins.latest[input->begins.blocks - 1]);
    }
    MPI_Allreduce(MPI_IN_PLACE, rounds->ends, (int)job->world.nranks, MPI_INT64_T, MPI_MAX,
                  job->procs.comm);
    return 0;
}

/* About how many messages of the process are begun before a time. */
static double count_begun(const struct pw_rounds *rounds, const struct pw_job *job, int64_t time)
{
    double sum = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        sum += pw_begins_count(&job->inputs[i].begins,
                               pw_rounds_to_local(rounds, &job->inputs[i], time));
    return sum;
}

/* The first and last begin of the process's messages. */
static void find_span(const struct pw_rounds *rounds, const struct pw_job *job, int64_t *first,
                      int64_t *last)
{
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t i = 0; i < job->ninputs; i++) {
        const struct pw_input *input = &job->inputs[i];
        if (!input->messages)
            continue;
        int64_t begin = pw_rounds_from_local(rounds, input, input->begins.earliest[0]);
        int64_t end = rounds->ends[input->rank];
        *first = begin < *first ? begin : *first;
        *last = end > *last ? end : *last;
    }
}

/* The earliest time by which `most` more messages are begun. Not the latest by which at most so
 * many are: a round must not be empty where many are begun at once. */
static int64_t choose_cut(const struct pw_rounds *rounds, const struct pw_job *job, double most)
{
    int64_t low, high;
    find_span(rounds, job, &low, &high);
    if (low > high)
        return INT64_MAX;
    low = low > rounds->to ? low : rounds->to;
    double wanted = count_begun(rounds, job, rounds->to) + most;
    if (count_begun(rounds, job, INT64_MAX) <= wanted)
        return INT64_MAX;
    /* Fewer than wanted are begun before `low`, and no fewer before `high`. */
    high = add(high, 1);
    while (low < high && (uint64_t)high - (uint64_t)low > 1) {
        int64_t middle = low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
        if (count_begun(rounds, job, middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    return high;
}

int pw_rounds_next(struct pw_rounds *rounds, const struct pw_job *job, int64_t most)
{
    if (rounds->to == INT64_MAX)
        return 0;
    int64_t cut = choose_cut(rounds, job, (double)most);
    rounds->from = rounds->to;
    MPI_Allreduce(&cut, &rounds->to, 1, MPI_INT64_T, MPI_MIN, job->procs.comm);
    return 1;
}

void pw_rounds_fini(struct pw_rounds *rounds)
{
    free(rounds->origins);
    free(rounds->ends);
}
