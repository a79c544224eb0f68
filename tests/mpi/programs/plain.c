/* A program without MPI that ends, listens, forks or records ranges, according to its first
 * argument. test_transparency.py compares its behaviour with and without profwrap. */
#include <errno.h>
#include <profwrap.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int end_with_code(char **argv)
{
    return atoi(argv[0]);
}

static int end_with_signal(char **argv)
{
    raise(atoi(argv[0]));
    return 0;
}

static int end_by_abort(char **argv)
{
    (void)argv;
    abort();
}

static int end_by_segv(char **argv)
{
    volatile int *nowhere = (volatile int *)argv;
    nowhere = (volatile int *)((char *)nowhere - (char *)nowhere);
    return *nowhere;
}

/* Arguments a line each, then standard input. */
static int echo(char **argv)
{
    char block[4096];
    size_t n;
    for (; *argv; argv++)
        printf("<%s>\n", *argv);
    while ((n = fread(block, 1, sizeof(block), stdin)) > 0)
        fwrite(block, 1, n, stdout);
    return 0;
}

static volatile sig_atomic_t terms, usr1s, others;

static void count_signal(int signal)
{
    if (signal == SIGTERM)
        terms = terms + 1;
    else if (signal == SIGUSR1)
        usr1s = usr1s + 1;
    else
        others = others + 1;
}

/* Equal signals that nobody has taken yet are one: the sender waits for this line. */
static void answer_signal(int signal)
{
    count_signal(signal);
    if (write(STDOUT_FILENO, "signal\n", 7) != 7)
        _exit(98);
}

/* Says "ready", answers each SIGUSR1, and counts signals until half a second after the first
 * SIGTERM or SIGUSR2: a second one would be one too many. */
static int listen(char **argv)
{
    struct timespec pause = {.tv_nsec = 10000000}, end;
    (void)argv;
    signal(SIGTERM, count_signal);
    signal(SIGUSR1, answer_signal);
    signal(SIGUSR2, count_signal);
    puts("ready");
    fflush(stdout);
    while (!terms && !others)
        nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 500000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
    printf("SIGTERM %d SIGUSR1 %d SIGUSR2 %d\n", (int)terms, (int)usr1s, (int)others);
    return 5;
}

/* Ends by the default action of a signal that profwrap passes on. */
static int wait_for_death(char **argv)
{
    struct timespec pause = {.tv_sec = 30};
    (void)argv;
    puts("ready");
    fflush(stdout);
    nanosleep(&pause, NULL);
    return 0;
}

static void *one_range(void *unused)
{
    (void)unused;
    profwrap_range_push("short thread");
    profwrap_range_pop();
    return NULL;
}

/* argv[0] threads, one after the other, a range each. */
static int come_and_go(char **argv)
{
    int n = atoi(argv[0]);
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, one_range, NULL))
            return 1;
        pthread_join(thread, NULL);
    }
    printf("%d threads\n", n);
    return 0;
}

/* argv[0] threads at once, a range each. */
static int all_at_once(char **argv)
{
    int n = atoi(argv[0]);
    pthread_t threads[64];
    for (int i = 0; i < n && i < 64; i++)
        if (pthread_create(&threads[i], NULL, one_range, NULL))
            return 1;
    for (int i = 0; i < n && i < 64; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static void three_steps(const char *name)
{
    for (int64_t step = 0; step < 3; step++) {
        profwrap_step(step);
        profwrap_phase(PROFWRAP_FORWARD);
        profwrap_range_push(name);
        profwrap_range_pop();
    }
    profwrap_step(PROFWRAP_NO_STEP);
    profwrap_range_pop(); /* one too many: does nothing */
}

/* argv[0] ranges. */
static int many_ranges(char **argv)
{
    for (long i = atol(argv[0]); i > 0; i--) {
        profwrap_range_push("one of many");
        profwrap_range_pop();
    }
    return 5;
}

static int annotate(char **argv)
{
    (void)argv;
    errno = EDOM;
    three_steps("marked");
    printf("errno %s\n", errno == EDOM ? "kept" : "changed");
    return 0;
}

/* A child that keeps running our code, between two halves of the parent's. */
static int fork_in_the_middle(char **argv)
{
    int status = 1;
    (void)argv;
    profwrap_range_push("before");
    profwrap_range_pop();
    pid_t pid = fork();
    if (pid == 0) {
        int active = profwrap_active();
        for (int i = 0; i < 1000; i++)
            three_steps("child");
        _exit(active);
    }
    profwrap_range_push("after");
    waitpid(pid, &status, 0);
    profwrap_range_pop();
    printf("child active %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}

/* A child that becomes another program, which has profwrap's environment, too. */
static int exec_in_the_middle(char **argv)
{
    int status = 1;
    profwrap_range_push("before");
    profwrap_range_pop();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    profwrap_range_push("after");
    profwrap_range_pop();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

/* What daemons do: closes every descriptor that it did not open. */
static int close_all(char **argv)
{
    (void)argv;
    profwrap_range_push("before");
    profwrap_range_pop();
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    three_steps("marked");
    puts("closed");
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} modes[] = {
    {"exit", end_with_code},
    {"raise", end_with_signal},
    {"abort", end_by_abort},
    {"segv", end_by_segv},
    {"echo", echo},
    {"listen", listen},
    {"wait", wait_for_death},
    {"come-and-go", come_and_go},
    {"all-at-once", all_at_once},
    {"ranges", many_ranges},
    {"annotate", annotate},
    {"fork", fork_in_the_middle},
    {"exec", exec_in_the_middle},
    {"close-all", close_all},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argv + 2);
    return 64;
}
