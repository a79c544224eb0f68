/* A disk that takes its time: preloaded, every fsync takes half a second more. Lets
 * test_transparency.py act while a collector is writing its last. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd)
{
    struct timespec half_a_second = {.tv_nsec = 500000000};
    nanosleep(&half_a_second, NULL);
    return (int)syscall(SYS_fsync, fd);
}
