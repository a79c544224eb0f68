/* Workers take the next item from a counter that they share; see parallel.h. */
#include "aggregate/input/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10 };

static cpu_set_t shared; /* the cores of all processes on the host */
static int is_shared;

/* ---- cores ---- */

struct place {
    char hostname[256];
    cpu_set_t cores;
};

static void find_place(struct place *place)
{
    *place = (struct place){.hostname = ""};
    gethostname(place->hostname, sizeof(place->hostname) - 1);
    if (sched_getaffinity(0, sizeof(place->cores), &place->cores))
        CPU_ZERO(&place->cores);
}

void pw_parallel_share_cores(const struct pw_procs *procs)
{
    struct place mine, *all = NULL;
    find_place(&mine);
    const size_t n = pw_procs_allgather(procs, &mine, 1, sizeof(mine), (void **)&all);
    CPU_ZERO(&shared);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].hostname, mine.hostname))
            CPU_OR(&shared, &shared, &all[i].cores);
    is_shared = CPU_COUNT(&shared) > 0;
    free(all);
}

size_t pw_parallel_workers(size_t n)
{
    struct place here;
    find_place(&here);
    size_t workers = (size_t)CPU_COUNT(is_shared ? &shared : &here.cores);
    workers = workers > PW_PARALLEL_MOST ? PW_PARALLEL_MOST : workers;
    workers = workers > n ? n : workers;
    return workers > 1 ? workers : 1;
}

/* ---- threads ---- */

struct running {
    const struct pw_parallel_work *work;
    atomic_size_t next;
};

struct worker {
    struct running *running;
    size_t number;
    pthread_t thread;
    int is_started;
};

static void take_items(const struct worker *w)
{
    const struct pw_parallel_work *work = w->running->work;
    for (size_t i; (i = atomic_fetch_add(&w->running->next, 1)) < work->n;)
        work->each(work->context, i, w->number);
}

/* A thread chooses its cores itself, because a confined process may do that for its own threads
 * only. */
static void *start(void *worker)
{
    if (is_shared)
        sched_setaffinity(0, sizeof(shared), &shared);
    take_items(worker);
    return NULL;
}

void pw_parallel(const struct pw_parallel_work *work)
{
    struct running running = {.work = work};
    struct worker all[PW_PARALLEL_MOST];
    pthread_attr_t attributes;
    const int can_start = !pthread_attr_init(&attributes);
    if (can_start)
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (size_t i = 0; i < work->workers; i++) {
        all[i] = (struct worker){.running = &running, .number = i};
        all[i].is_started =
            i && can_start && !pthread_create(&all[i].thread, &attributes, start, &all[i]);
    }
    take_items(&all[0]);
    for (size_t i = 1; i < work->workers; i++)
        if (all[i].is_started)
            pthread_join(all[i].thread, NULL);
    if (can_start)
        pthread_attr_destroy(&attributes);
}
