/* The agreement of many hosts (rank/clocks/agree.h), in a few processes of this machine:
 *
 *     agreehosts DIR HOSTS RANKS_PER_HOST PROCESSES
 *
 * Every host is a clock domain of its own, with its own page and its own socket. Rank 0's host has
 * the first processor and the first process. The other processes share the other hosts; a process
 * polls its hosts in turn. Prints the time in seconds from the first registration until the last
 * rank knows the decision, and the decision. For start_cost.py. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank/clocks/agree.h"
#include "rank/ring/tick.h"

static _Atomic int64_t *last; /* local time of the last decision */

static void note_decided(void)
{
    const int64_t now = pw_local_ns();
    int64_t seen = atomic_load(last);
    while (seen < now && !atomic_compare_exchange_weak(last, &seen, now))
        ;
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

static int serve(const char *dir, int hosts, int per_host, int processes, int number)
{
    use_processors(number == 0);
    const int others = processes - 1, first = number == 0 ? 0 : number;
    const int mine = number == 0 ? 1 : (hosts - first + others - 1) / others;
    const int size = hosts * per_host;
    struct pw_agreement *all = calloc((size_t)(mine * per_host), sizeof(*all));
    int decided = 0, yes = 0;
    if (!all)
        return 2;
    for (int i = 0; i < mine * per_host; i++) {
        const int host = first + i / per_host * others;
        pw_agree_init(&all[i], dir, (uint64_t)host + 1, host * per_host + i % per_host, size);
    }
    while (decided < mine * per_host) {
        decided = yes = 0;
        for (int i = 0; i < mine * per_host; i++) {
            const enum pw_sync_decision decision = pw_agree_poll(&all[i]);
            decided += decision != PW_SYNC_UNDECIDED;
            yes += decision == PW_SYNC_YES;
        }
        usleep(1000);
    }
    note_decided();
    /* Rank 0's host goes on answering the others. */
    for (int i = 0; number == 0 && i < 2000; i++, usleep(1000))
        pw_agree_serve(&all[0]);
    for (int i = 0; i < mine * per_host; i++)
        pw_agree_end(&all[i]);
    free(all);
    return yes == mine * per_host ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    const int hosts = atoi(argv[2]), per_host = atoi(argv[3]), processes = atoi(argv[4]);
    struct rlimit files = {1 << 16, 1 << 16};
    setrlimit(RLIMIT_NOFILE, &files);
    void *shared =
        mmap(NULL, sizeof(*last), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    last = shared;
    const int64_t begin = pw_local_ns();
    int worst = 0;
    for (int i = 0; i < processes; i++)
        if (fork() == 0)
            _exit(serve(argv[1], hosts, per_host, processes, i));
    for (int i = 0, status; i < processes; i++) {
        wait(&status);
        worst |= WIFEXITED(status) ? WEXITSTATUS(status) : 2;
    }
    printf("%.3f %s\n", (double)(atomic_load(last) - begin) / 1e9,
           worst == 0 ? "yes" : "not all yes");
    return worst;
}
