/* Preloaded by SUITES_YIELD=1: Debian's MPICH 4 spins while it waits, without a system call, so
 * that the ranks of a test keep each other from running where there are fewer cores than ranks.
 * Each of its polls calls ucp_worker_progress of UCX. Here a thread that polls in vain sleeps after
 * every 64 polls, once it holds no lock: in the poll, or when MPICH unlocks after it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

enum { POLLS_PER_SLEEP = 64, SLEEP_NS = 50000 };

static unsigned (*real_progress)(void *worker);
static int (*real_lock)(pthread_mutex_t *mutex);
static int (*real_trylock)(pthread_mutex_t *mutex);
static int (*real_unlock)(pthread_mutex_t *mutex);
static _Thread_local int polls_in_vain, locks_held;

/* POSIX has dlsym() return functions as void *, which ISO C does not convert. */
static void find(void *function, const char *name)
{
    *(void **)function = dlsym(RTLD_NEXT, name);
}

/* Not in a constructor: those of other libraries may lock before it runs. */
static void find_functions(void)
{
    if (real_unlock)
        return;
    find(&real_lock, "pthread_mutex_lock");
    find(&real_trylock, "pthread_mutex_trylock");
    find(&real_unlock, "pthread_mutex_unlock");
}

static void sleep_after_polls(void)
{
    if (locks_held || polls_in_vain < POLLS_PER_SLEEP)
        return;
    int saved_errno = errno;
    polls_in_vain = 0;
    nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    errno = saved_errno;
}

/* RTLD_NEXT does not find a library that Python loads for itself alone. */
static void find_progress(void)
{
    void *ucx = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    *(void **)&real_progress = dlsym(ucx ? ucx : RTLD_NEXT, "ucp_worker_progress");
}

unsigned ucp_worker_progress(void *worker)
{
    if (!real_progress)
        find_progress();
    unsigned events = real_progress(worker);
    polls_in_vain = events ? 0 : polls_in_vain + 1;
    sleep_after_polls();
    return events;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    find_functions();
    int err = real_lock(mutex);
    locks_held += !err;
    return err;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    find_functions();
    int err = real_trylock(mutex);
    locks_held += !err;
    return err;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    find_functions();
    int err = real_unlock(mutex);
    locks_held -= !err;
    sleep_after_polls();
    return err;
}
