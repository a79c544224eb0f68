/* Preloaded: holds a process at a certain place while there is a file "hold-PLACE", and makes
 * "held-PLACE" when it is there. Places: `stop`, where a wait has shown a stopped child and the
 * child can be waited for again; `lock`, before a file is locked, as collectors do with their
 * journal. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void hold(const char *place)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    char held[32], name[32];
    snprintf(name, sizeof(name), "hold-%s", place);
    snprintf(held, sizeof(held), "held-%s", place);
    if (access(name, F_OK))
        return;
    close(open(held, O_WRONLY | O_CREAT, 0600));
    while (access(name, F_OK) == 0)
        nanosleep(&pause, NULL);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int flags)
{
    int (*real)(idtype_t, id_t, siginfo_t *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "waitid");
    const int result = real(type, id, info, flags);
    if (result == 0 && info && (flags & WNOWAIT) && info->si_pid && info->si_code == CLD_STOPPED)
        hold("stop");
    return result;
}

int flock(int fd, int operation)
{
    hold("lock");
    return (int)syscall(SYS_flock, fd, operation);
}
