/* A rank whose end is chosen by variables of the environment, so that ends with and without
 * profwrap can be compared:
 *
 *   ENDING_WAY     how the victims end: a name in `ways`
 *   ENDING_VICTIM  first, middle, last or all
 *   ENDING_OTHERS  what the other ranks do then: a name in `activities`
 *   ENDING_RANKS   the number of ranks of a program without MPI; with MPI it is not set
 *   ENDING_LIMIT_S this long after all have begun, a rank gives up and leaves with status 0
 *                  (not before a victim has ended; a victim only with MPI)
 *   ENDING_CGROUP  the control group whose memory is used up
 *   ENDING_AWAITS  a file that the victims wait for
 *
 * Each rank makes a file begun-RANK, and a victim died-RANK at its end, with its pid. Built three
 * times: in C, in C++ (throw.cc) and in Fortran (stop.f90), whose main programs call ender_run().
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STATUS = 3, CALLS = 20, BESIDE_MS = 600, BEFORE_END_MS = 200 };

int ender_run(void);
__attribute__((weak)) void ender_throw(void);
__attribute__((weak)) void ender_stop(int status);
__attribute__((weak)) void ender_error_stop(int status);

static int rank, ranks, with_mpi, is_victim;
static const char *way, *victim, *others;
static char ended[32]; /* the file that says that a victim ends */
static unsigned limit_s;
static MPI_Comm alike; /* the other ranks, or the victims */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_ms(int64_t ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void write_file(const char *name, int number)
{
    char path[64], text[32];
    snprintf(path, sizeof(path), "%s-%d", name, number);
    const int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        abort();
    close(fd);
}

/* Returns when the launcher has read what this rank wrote: it may discard the rest of a failed job.
 */
static void say(const char *what)
{
    char line[64];
    struct stat st;
    int left = 0;
    const int length = snprintf(line, sizeof(line), "rank %d %s\n", rank, what);
    if (write(STDOUT_FILENO, line, (size_t)length) != length || fstat(STDOUT_FILENO, &st))
        return;
    const unsigned long request = S_ISCHR(st.st_mode) ? TIOCOUTQ : FIONREAD;
    for (int i = 0; i < 1000 && ioctl(STDOUT_FILENO, request, &left) == 0 && left > 0; i++)
        sleep_ms(2);
}

/* Waits until every rank was here, by files: a program without MPI can do so, too. */
static void meet(void)
{
    char path[64];
    write_file("begun", rank);
    for (int other = 0; other < ranks; other++) {
        snprintf(path, sizeof(path), "begun-%d", other);
        while (access(path, F_OK))
            sleep_ms(2);
    }
}

static void give_up(int number)
{
    (void)number;
    if (access(ended, F_OK) == 0)
        _exit(0);
    alarm(limit_s);
}

static int rank_of_environment(void)
{
    static const char *const names[] = {"RANK", "FLUX_TASK_RANK", "MS_NODE_ID", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return 0;
}

static void find_rank(void)
{
    const char *wanted = getenv("ENDING_RANKS");
    with_mpi = wanted == NULL;
    if (with_mpi) {
        MPI_Init(NULL, NULL);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    } else {
        rank = rank_of_environment();
        ranks = atoi(wanted);
    }
    const int number = strcmp(victim, "first") == 0    ? 0
                       : strcmp(victim, "middle") == 0 ? ranks / 2
                                                       : ranks - 1;
    is_victim = strcmp(victim, "all") == 0 || rank == number;
    snprintf(ended, sizeof(ended), "died-%d", number);
}

static void reduce(MPI_Comm comm)
{
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* --- what the others do: for ever, or until the time `end` ---------------------------------------
 */

static void in_collective(int64_t end)
{
    int number, size;
    if (end == INT64_MAX)
        reduce(MPI_COMM_WORLD);
    MPI_Comm_rank(alike, &number);
    MPI_Comm_size(alike, &size);
    if (number == size - 1)
        sleep_ms(end - now_ms());
    reduce(alike);
}

static void polling(int64_t end)
{
    int value, done = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, alike, &request);
    while (!done && now_ms() < end)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void computing(int64_t end)
{
    volatile double sum = 0;
    while (now_ms() < end)
        for (int i = 1; i < 1000000; i++)
            sum += 1.0 / i;
}

static void on_self(int64_t end)
{
    while (now_ms() < end)
        reduce(MPI_COMM_SELF);
}

static void asleep(int64_t end)
{
    while (now_ms() < end)
        sleep_ms(end == INT64_MAX ? 1000000 : end - now_ms());
}

static void finished(int64_t end)
{
    (void)end;
}

static const struct {
    const char *name;
    void (*go_on)(int64_t end);
} activities[] = {{"collective", in_collective},
                  {"polling", polling},
                  {"computing", computing},
                  {"self", on_self},
                  {"asleep", asleep},
                  {"finished", finished}};

/* --- how the victims end: what is not here returns
 * ------------------------------------------------ */

static void finalize(void)
{
    if (with_mpi)
        MPI_Finalize();
}

static int return_zero(void)
{
    finalize();
    return 0;
}

static int exit_finalized(void)
{
    finalize();
    exit(STATUS);
}

static int return_status(void)
{
    return STATUS;
}

static int leave(void)
{
    _exit(STATUS);
}

static int leave_with_zero(void)
{
    _exit(0);
}

static int by_abort(void)
{
    abort();
}

static int by_signal(int number)
{
    kill(getpid(), number);
    return 99;
}

static int by_segv(void)
{
    return by_signal(SIGSEGV);
}

static int by_kill(void)
{
    return by_signal(SIGKILL);
}

static int by_term(void)
{
    return by_signal(SIGTERM);
}

static int take_all_memory(void)
{
    enum { PIECE = 8 << 20 };
    for (;;) {
        char *piece = malloc(PIECE);
        if (!piece)
            abort();
        memset(piece, 1, PIECE);
    }
}

static int over_memory_limit(void)
{
    const struct rlimit limit = {64 << 20, 64 << 20};
    setrlimit(RLIMIT_AS, &limit);
    return take_all_memory();
}

/* The kernel kills the process at the limit of the control group. */
static int over_cgroup_limit(void)
{
    char path[256], text[32];
    snprintf(path, sizeof(path), "%s/cgroup.procs", getenv("ENDING_CGROUP"));
    const int length = snprintf(text, sizeof(text), "%d", (int)getpid());
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        abort();
    return take_all_memory();
}

static int by_mpi_abort(void)
{
    MPI_Abort(MPI_COMM_WORLD, STATUS);
    return 99;
}

static int by_exception(void)
{
    ender_throw();
    return 99;
}

static int by_stop(void)
{
    ender_stop(STATUS);
    return 99;
}

static int by_error_stop(void)
{
    ender_error_stop(STATUS);
    return 99;
}

/* The test continues the process, or kills it. */
static int stop_itself(void)
{
    raise(SIGSTOP);
    return return_zero();
}

static const struct {
    const char *name;
    int (*end)(void);
    int is_good; /* the other ranks go on, and end well, too */
} ways[] = {
    {"return", return_zero, 1},
    {"exit-finalized", exit_finalized, 1},
    {"return-status", return_status, 0},
    {"_exit", leave, 0},
    {"_exit-0", leave_with_zero, 0},
    {"abort", by_abort, 0},
    {"segv", by_segv, 0},
    {"kill", by_kill, 0},
    {"term", by_term, 0},
    {"memory-limit", over_memory_limit, 0},
    {"memory-cgroup", over_cgroup_limit, 0},
    {"mpi-abort", by_mpi_abort, 0},
    {"throw", by_exception, 0},
    {"stop", by_stop, 0},
    {"error-stop", by_error_stop, 0},
    {"continued", stop_itself, 1},
    {"stopped-killed", stop_itself, 0},
};

static int end_as_victim(int (*end)(void))
{
    const char *awaited = getenv("ENDING_AWAITS");
    sleep_ms(BEFORE_END_MS); /* meanwhile the others begin what they do */
    while (awaited && access(awaited, F_OK))
        sleep_ms(2);
    write_file("died", rank);
    return end();
}

static int go_on(int is_good)
{
    const int64_t end = is_good ? now_ms() + BESIDE_MS : INT64_MAX;
    for (size_t i = 0; i < sizeof(activities) / sizeof(activities[0]); i++)
        if (strcmp(others, activities[i].name) == 0)
            activities[i].go_on(end);
    say("ends");
    finalize();
    return 0;
}

int ender_run(void)
{
    const char *limit = getenv("ENDING_LIMIT_S");
    way = getenv("ENDING_WAY");
    victim = getenv("ENDING_VICTIM");
    others = getenv("ENDING_OTHERS");
    if (!limit || !way || !victim || !others)
        return 98;
    signal(SIGALRM, give_up);
    find_rank();
    say("begins");
    if (with_mpi) {
        MPI_Comm_split(MPI_COMM_WORLD, is_victim, 0, &alike);
        for (int i = 0; i < CALLS; i++)
            reduce(MPI_COMM_WORLD);
    }
    meet();
    limit_s = (unsigned)atoi(limit);
    alarm(with_mpi || !is_victim ? limit_s : 0);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(way, ways[i].name) == 0)
            return is_victim ? end_as_victim(ways[i].end) : go_on(ways[i].is_good);
    return 97;
}
