/* A slow disk: preloaded, it makes every fsync take half a second longer. So test_transparency.py
 * can act while a collector is writing its last data. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int fsync(int fd)
{
    struct timespec half_a_second = {.tv_nsec = 500000000};
    nanosleep(&half_a_second, NULL);
    return (int)syscall(SYS_fsync, fd);
}
