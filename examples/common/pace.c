/* Owns the clock of the examples and their sleeping. */
#define _POSIX_C_SOURCE 200809L

#include "pace.h"

#include <errno.h>
#include <time.h>

int64_t pace_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void pace_until(int64_t start, int64_t ns)
{
    const int64_t until = start + ns;
    const struct timespec end = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    if (until <= pace_now())
        return;
    /* An absolute end: a sampling profiler's signals interrupt the sleep but do not stretch it. */
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}
