/* A program that makes children in every way, executes another program, or gives up its
 * environment, its user or its descriptors, according to its first argument. Modes that end in
 * "-mpi" are MPI programs; the others record ranges only. test_processes.py runs it with and
 * without profwrap. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mpi.h>
#include <profwrap.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { NOBODY = 65534 };

static char **self; /* {this program, "child", NULL} */

static void mark(const char *name, int times)
{
    for (int i = 0; i < times; i++) {
        profwrap_range_push(name);
        profwrap_range_pop();
    }
}

static void reduce(int times)
{
    int one = 1, sum;
    for (int i = 0; i < times; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static int child(char **argv)
{
    (void)argv;
    mark("child", 100);
    return profwrap_active() ? 8 : 7;
}

/* ---- ways to make children: each returns what waitpid() tells ---- */

static int wait_for(pid_t pid)
{
    int status = -1;
    return pid > 0 && waitpid(pid, &status, __WALL) == pid ? status : -1;
}

static int by_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(NULL));
    return wait_for(pid);
}

static int by_fork_exec(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        execv(self[0], self);
        _exit(99);
    }
    return wait_for(pid);
}

static int by_vfork_exec(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execv(self[0], self);
        _exit(99);
    }
    return wait_for(pid);
}

static int by_spawn(void)
{
    pid_t pid;
    return posix_spawn(&pid, self[0], NULL, NULL, self, environ) ? -1 : wait_for(pid);
}

static int become_child(void *unused)
{
    (void)unused;
    execv(self[0], self);
    _exit(99);
}

static int by_clone_vm(void)
{
    static _Alignas(64) char stack[65536];
    return wait_for(
        clone(become_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
}

/* Shares our memory, and is not us: where we have not recorded yet, it must not become the rank's
 * process in our place. */
static int mark_in_our_memory(void *unused)
{
    (void)unused;
    return profwrap_active() ? 8 : 7;
}

static int by_clone_in_memory(void)
{
    static _Alignas(64) char stack[65536];
    return wait_for(
        clone(mark_in_our_memory, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
}

/* Past the C library: none of its handlers of fork run. */
static int by_raw_clone(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(child(NULL));
    return wait_for(pid);
}

static int by_system(void)
{
    char command[4200];
    snprintf(command, sizeof(command), "%s child", self[0]);
    return system(command);
}

static int by_popen(void)
{
    char command[4200], line[16] = "";
    snprintf(command, sizeof(command), "%s child; echo $?", self[0]);
    FILE *pipe = popen(command, "r");
    if (!pipe || !fgets(line, sizeof(line), pipe))
        return -1;
    pclose(pipe);
    return atoi(line) << 8;
}

/* Everything that the caller may use belongs to somebody else from here on. */
static int drop_user(void)
{
    return setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY);
}

static int by_other_user(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(drop_user() ? 98 : child(NULL));
    return wait_for(pid);
}

static int by_other_user_exec(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!drop_user())
            execv(self[0], self);
        _exit(98);
    }
    return wait_for(pid);
}

static const struct {
    const char *name;
    int (*make)(void);
} ways[] = {
    {"fork", by_fork},
    {"fork-exec", by_fork_exec},
    {"vfork-exec", by_vfork_exec},
    {"spawn", by_spawn},
    {"clone-vm", by_clone_vm},
    {"clone-in-memory", by_clone_in_memory},
    {"raw-clone", by_raw_clone},
    {"system", by_system},
    {"popen", by_popen},
    {"other-user", by_other_user},
    {"other-user-exec", by_other_user_exec},
};

static int make_child(const char *way)
{
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, way) == 0)
            return ways[i].make();
    return -2;
}

static int children(char **argv)
{
    mark("before", 5);
    int status = make_child(argv[0]);
    mark("after", 5);
    printf("%s: child %s %d\n", argv[0], WIFEXITED(status) ? "exited" : "ended",
           WIFEXITED(status) ? WEXITSTATUS(status) : status);
    return 0;
}

/* The child is made before the process has recorded anything. */
static int first_children(char **argv)
{
    int status = make_child(argv[0]);
    mark("after", 5);
    printf("%s: child %d\n", argv[0], status);
    return 0;
}

static int children_mpi(char **argv)
{
    MPI_Init(NULL, NULL);
    reduce(5);
    int status = make_child(argv[0]);
    reduce(5);
    MPI_Finalize();
    printf("%s: child %s %d\n", argv[0], WIFEXITED(status) ? "exited" : "ended",
           WIFEXITED(status) ? WEXITSTATUS(status) : status);
    return 0;
}

/* ---- other programs ---- */

static int some_mpi(char **argv)
{
    (void)argv;
    MPI_Init(NULL, NULL);
    reduce(5);
    MPI_Finalize();
    puts("reduced");
    return 4;
}

static int exec_self(char **argv)
{
    char *next[] = {self[0], argv[0], argv[1], NULL};
    mark("before", 5);
    fflush(stdout);
    execv(self[0], next);
    return 99;
}

/* What is left is what MPI needs to begin at all. */
static int clearenv_exec(char **argv)
{
    static const char *const kept[] = {"PATH", "HOME", "OMPI_MCA_plm_rsh_agent"};
    enum { KEPT = sizeof(kept) / sizeof(kept[0]) };
    char *values[KEPT];
    for (int i = 0; i < KEPT; i++)
        values[i] = getenv(kept[i]) ? strdup(getenv(kept[i])) : NULL;
    clearenv();
    for (int i = 0; i < KEPT; i++)
        if (values[i])
            setenv(kept[i], values[i], 1);
    return exec_self(argv);
}

/* argv[0] times, a range each time. */
static int exec_again(char **argv)
{
    char left[16], *next[] = {self[0], "exec-again", left, NULL};
    int n = atoi(argv[0]);
    mark("once more", 1);
    if (n == 0)
        return 6;
    snprintf(left, sizeof(left), "%d", n - 1);
    execv(self[0], next);
    return 99;
}

static int exec_after_init_mpi(char **argv)
{
    char *next[] = {self[0], "marks", NULL};
    (void)argv;
    MPI_Init(NULL, NULL);
    reduce(5);
    execv(self[0], next);
    return 99;
}

static int marks(char **argv)
{
    (void)argv;
    mark("marked", 5);
    puts("marked");
    return 5;
}

/* Leaves a grandchild behind, which writes argv[0] when its parents are gone. */
static int daemonise(char **argv)
{
    struct timespec pause = {.tv_nsec = 400000000};
    mark("before", 5);
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        fclose(stdout);
        nanosleep(&pause, NULL);
        mark("daemon", 100);
        FILE *file = fopen(argv[0], "w");
        if (file)
            fclose(file);
        _exit(0);
    }
    wait(NULL);
    return 2;
}

/* ---- limits ---- */

static int close_all_mpi(char **argv)
{
    (void)argv;
    mark("before", 5);
    closefrom(3);
    return some_mpi(argv);
}

static int set_limit(int resource, rlim_t value)
{
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = value;
    return setrlimit(resource, &limit);
}

/* Nothing can be opened, then it can again. */
static int no_descriptors(char **argv)
{
    struct rlimit before;
    (void)argv;
    getrlimit(RLIMIT_NOFILE, &before);
    set_limit(RLIMIT_NOFILE, 3);
    mark("unseen", 5);
    errno = EDOM;
    mark("unseen", 5);
    printf("errno %s\n", errno == EDOM ? "kept" : "changed");
    setrlimit(RLIMIT_NOFILE, &before);
    mark("seen", 1000);
    return 0;
}

static int no_memory(char **argv)
{
    (void)argv;
    set_limit(RLIMIT_AS, 1 << 20);
    mark("unseen", 1000);
    puts("went on");
    return 0;
}

static void *mark_in_thread(void *unused)
{
    (void)unused;
    mark("thread", 5);
    return NULL;
}

/* Small files only: a ring beyond the limit must not end us by SIGXFSZ. */
static int small_files(char **argv)
{
    pthread_t thread;
    (void)argv;
    set_limit(RLIMIT_FSIZE, 4096);
    mark("before", 5);
    if (pthread_create(&thread, NULL, mark_in_thread, NULL))
        return 1;
    pthread_join(thread, NULL);
    puts("went on");
    return 0;
}

/* As servers do: begins as root and goes on as nobody. */
static int other_user(char **argv)
{
    int first = argv[0] != NULL;
    mark("root", first ? 5 : 0);
    if (drop_user())
        return 98;
    mark("nobody", 5);
    puts("went on");
    return 0;
}

/* argv[0] loads argv[1] times. */
static int dlclose_mpi(char **argv)
{
    int failed = 0;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < atoi(argv[1]); i++) {
        void *library = dlopen(argv[0], RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, "plugin_work") : NULL;
        int (*work)(void);
        if (!found)
            return 97;
        memcpy(&work, &found, sizeof(found));
        failed += work();
        dlclose(library);
        failed += dlopen(argv[0], RTLD_LAZY | RTLD_NOLOAD) != NULL;
    }
    MPI_Finalize();
    printf("failed %d\n", failed);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(char **argv);
} modes[] = {
    {"child", child},
    {"children", children},
    {"first-children", first_children},
    {"children-mpi", children_mpi},
    {"some-mpi", some_mpi},
    {"exec", exec_self},
    {"clearenv-exec", clearenv_exec},
    {"exec-again", exec_again},
    {"exec-after-init-mpi", exec_after_init_mpi},
    {"marks", marks},
    {"daemon", daemonise},
    {"close-all-mpi", close_all_mpi},
    {"no-descriptors", no_descriptors},
    {"no-memory", no_memory},
    {"small-files", small_files},
    {"other-user", other_user},
    {"dlclose-mpi", dlclose_mpi},
};

int main(int argc, char **argv)
{
    static char path[4096];
    static char *become[] = {path, "child", NULL};
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    self = become;
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argv + 2);
    return 64;
}
