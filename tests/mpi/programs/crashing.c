/* Preloaded: while the file "crash-now" exists, crashes every process that locks a file, as
 * collectors do with their journal. The size of the file "crashes" is the number of crashes. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

int flock(int fd, int operation)
{
    if (access("crash-now", F_OK) == 0) {
        int count = open("crashes", O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (write(count, "+", 1) == 1)
            abort();
    }
    return (int)syscall(SYS_flock, fd, operation);
}
