/* The agreement of many hosts (rank/clocks/agree.h) and their end, on this machine:
 *
 *     agreehosts DIR HOSTS RANKS_PER_HOST PROCESSES
 *
 * Every host is a clock domain with a page and a socket of its own. The first process has rank 0's
 * host and the first processor. The other processes share the other hosts and the other processors.
 * Each host is a coroutine, and nanosleep() goes on with the other hosts of the process: so the
 * delay that slowfs.c adds to an operation on a file delays only the host that does it. A stage
 * begins when all hosts have finished the one before.
 *
 * Prints two times in seconds and the decision: from the first registration until the last rank
 * knows the decision; and from the moment at which all hosts end until the last has ended. For
 * start_cost.py. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "rank/clocks/agree.h"
#include "rank/ring/tick.h"

enum { MOST_SECONDS = 120, STACK_BYTES = 1 << 16, POLL_NS = 1000000, REST_NS = 100000000 };

enum stage { STAGE_OPEN, STAGE_AGREE, STAGE_END, STAGES };

/* Shared by the processes. */
struct shared {
    pthread_barrier_t barrier;
    _Atomic int hosts_decided;
    /* Of each stage: local time at which the first host began, and at which the last was ready. */
    _Atomic int64_t first_ns[STAGES], last_ns[STAGES];
};

struct host {
    ucontext_t context;
    char *stack;
    int64_t wake_ns; /* local time at which the host goes on */
    int number, yes; /* yes: ranks that know the decision "yes" */
    enum stage stage;
    struct pw_agreement *ranks;
};

static struct {
    const char *dir;
    int hosts, per_host, processes;
} job;
static struct shared *shared;
static ucontext_t scheduler;
static struct host *current; /* NULL in the scheduler */

int nanosleep(const struct timespec *pause, struct timespec *rest)
{
    if (!current)
        return clock_nanosleep(CLOCK_MONOTONIC, 0, pause, rest) ? -1 : 0;
    current->wake_ns = pw_local_ns() + pause->tv_sec * INT64_C(1000000000) + pause->tv_nsec;
    swapcontext(&current->context, &scheduler);
    return 0;
}

static void pause_ns(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void note_begin(enum stage stage)
{
    const int64_t now = pw_local_ns();
    int64_t seen = atomic_load(&shared->first_ns[stage]);
    while (seen > now && !atomic_compare_exchange_weak(&shared->first_ns[stage], &seen, now))
        ;
}

static void note_ready(enum stage stage)
{
    const int64_t now = pw_local_ns();
    int64_t seen = atomic_load(&shared->last_ns[stage]);
    while (seen < now && !atomic_compare_exchange_weak(&shared->last_ns[stage], &seen, now))
        ;
}

static double seconds(enum stage stage)
{
    return 1e-9 * (double)(shared->last_ns[stage] - shared->first_ns[stage]);
}

/* Uses the first processor, or all others. */
static void use_processors(bool first)
{
    const int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = first ? 0 : 1; i < (first ? 1 : n); i++)
        CPU_SET(i, &set);
    if (CPU_COUNT(&set))
        sched_setaffinity(0, sizeof(set), &set);
}

/* What the collectors of a host do while the program starts. */
static void open_host(struct host *h)
{
    for (int i = 0; i < job.per_host; i++)
        pw_agree_init(&h->ranks[i], job.dir, (uint64_t)h->number + 1, h->number * job.per_host + i,
                      job.hosts * job.per_host);
    pw_rendezvous_lead(&h->ranks[0].meeting);
    h->ranks[0].has_shown = true;
}

static void agree(struct host *h)
{
    note_begin(STAGE_AGREE);
    for (int decided = 0; decided < job.per_host;) {
        decided = h->yes = 0;
        for (int i = 0; i < job.per_host; i++) {
            const enum pw_sync_decision decision = pw_agree_poll(&h->ranks[i]);
            decided += decision != PW_SYNC_UNDECIDED;
            h->yes += decision == PW_SYNC_YES;
        }
        if (decided < job.per_host)
            pause_ns(POLL_NS);
    }
    note_ready(STAGE_AGREE);
    atomic_fetch_add(&shared->hosts_decided, 1);
    /* Rank 0's host goes on answering the others, as often as its collector would. */
    while (h->number == 0 && atomic_load(&shared->hosts_decided) < job.hosts)
        pause_ns(pw_agree_serve(&h->ranks[0]) ? POLL_NS : REST_NS);
}

static void end_host(struct host *h)
{
    note_begin(STAGE_END);
    pw_rendezvous_leave(&h->ranks[0].meeting);
    for (int i = 0; i < job.per_host; i++)
        pw_agree_fini(&h->ranks[i], h->number == 0 && i == 0);
    if (h->number == 0)
        pw_rendezvous_remove(job.dir);
    note_ready(STAGE_END);
}

/* The coroutine. */
static void serve(void)
{
    static void (*const work[])(struct host *) = {open_host, agree, end_host};
    for (struct host *h = current;;) {
        work[h->stage](h);
        h->stage++;
        swapcontext(&h->context, &scheduler);
    }
}

static int create(struct host *h, int number)
{
    h->number = number;
    h->ranks = calloc((size_t)job.per_host, sizeof(*h->ranks));
    h->stack = malloc(STACK_BYTES);
    if (!h->ranks || !h->stack || getcontext(&h->context))
        return -1;
    h->context.uc_stack.ss_sp = h->stack;
    h->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&h->context, serve, 0);
    return 0;
}

/* Runs the hosts in turn until all have finished `stage`. */
static void schedule(struct host *hosts, int n, enum stage stage)
{
    for (int ready = 0; ready < n;) {
        int64_t next = INT64_MAX;
        ready = 0;
        for (struct host *h = hosts; h < hosts + n; h++) {
            if (h->stage == stage && pw_local_ns() >= h->wake_ns) {
                current = h;
                swapcontext(&scheduler, &h->context);
                current = NULL;
            }
            ready += h->stage > stage;
            if (h->stage == stage && h->wake_ns < next)
                next = h->wake_ns;
        }
        const int64_t wait = ready < n ? next - pw_local_ns() : 0;
        if (wait > 0)
            pause_ns((long)wait);
    }
}

/* Runs the hosts of one process. Returns 0 when all ranks know the decision "yes". */
static int serve_hosts(int process)
{
    const int others = job.processes - 1;
    const int n = process == 0 ? 1 : (job.hosts - process + others - 1) / others;
    struct host *hosts = calloc((size_t)n, sizeof(*hosts));
    int yes = 0;
    alarm(MOST_SECONDS); /* the others wait for a process that has failed */
    use_processors(process == 0);
    for (int i = 0; i < n; i++)
        if (!hosts || create(&hosts[i], process + i * others))
            return 2;
    for (enum stage stage = STAGE_OPEN; stage < STAGES; stage++) {
        schedule(hosts, n, stage);
        pthread_barrier_wait(&shared->barrier);
    }
    for (int i = 0; i < n; i++) {
        yes += hosts[i].yes;
        free(hosts[i].ranks);
        free(hosts[i].stack);
    }
    free(hosts);
    return yes == n * job.per_host ? 0 : 1;
}

static int share(void)
{
    pthread_barrierattr_t attributes;
    void *map =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return -1;
    shared = map;
    for (int stage = 0; stage < STAGES; stage++)
        shared->first_ns[stage] = INT64_MAX;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    return pthread_barrier_init(&shared->barrier, &attributes, (unsigned)job.processes);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    job.dir = argv[1];
    job.hosts = atoi(argv[2]);
    job.per_host = atoi(argv[3]);
    job.processes = atoi(argv[4]);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (job.processes < 2 || share())
        return 2;
    int worst = 0;
    for (int i = 0; i < job.processes; i++)
        if (fork() == 0)
            _exit(serve_hosts(i));
    for (int i = 0, status; i < job.processes; i++) {
        wait(&status);
        worst |= WIFEXITED(status) ? WEXITSTATUS(status) : 2;
    }
    printf("%.3f %.3f %s\n", seconds(STAGE_AGREE), seconds(STAGE_END),
           worst == 0 ? "yes" : "not all yes");
    return worst;
}
