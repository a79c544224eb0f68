/* libprofwrap_launch.so: makes the processes to which a launcher gives a rank runs of profwrap.
 *
 * `profwrap LAUNCHER ...` names this library in LD_AUDIT. The loader loads an auditor before
 * anything that the program needs, so that nothing of the program has been executed, and nothing is
 * loaded twice, when its constructor replaces the program by "profwrap worker PATH program
 * arguments". Processes without a rank of this launcher, launchers inside it, and profwrap itself
 * stay what they are; so does whatever cannot be replaced. It uses no library, and costs a process
 * that stays what it is only its own loading: the loader unloads it again. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "rank/run/baretext.h"
#include "rank/run/rankenv.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned la_version(unsigned version);

enum { LONGEST_PATH = 4096, WORDS_BEFORE = 3, MOST_WORDS = 100000 };

/* A system call with pointers and numbers; -errno on failure. */
static long call(long number, long a, const void *b, const void *c, long d)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register const void *x1 __asm__("x1") = b;
    register const void *x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#else
    (void)number;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return -1; /* nothing is replaced */
#endif
}

/* The next field of the variable, or NULL. */
static const char *next_field(const char *at)
{
    while (*at && *at != PW_LAUNCH_FIELD)
        at++;
    return *at ? at + 1 : NULL;
}

/* 1, or 0 when there is none or it is too long. */
static int copy_field(const char *field, char *out, size_t size)
{
    size_t n = 0;
    for (; field[n] && field[n] != PW_LAUNCH_FIELD; n++) {
        if (n + 1 >= size)
            return 0;
        out[n] = field[n];
    }
    out[n] = '\0';
    return n > 0;
}

/* The executable; of a script, its interpreter. */
static int find_program(char *out, size_t size)
{
    static const char link[] = "/proc/self/exe";
    const long length = call(SYS_readlinkat, AT_FDCWD, link, out, (long)size - 1);
    if (length <= 0 || (size_t)length >= size - 1)
        return 0;
    out[length] = '\0';
    return 1;
}

/* A profwrap that was put before the program by hand: it records, and this one does not. */
static int is_profwrap(const char *path)
{
    static const char own[] = "profwrap";
    const char *name = pw_bare_base_name(path);
    for (size_t i = 0; i < sizeof(own); i++)
        if (name[i] != own[i])
            return 0;
    return 1;
}

static void become_worker(char *self, char *program, char **argv, size_t count, char **environment)
{
    static char worker[] = "worker";
    char *words[WORDS_BEFORE + count + 1];
    words[0] = self;
    words[1] = worker;
    words[2] = program;
    for (size_t i = 0; i <= count; i++)
        words[WORDS_BEFORE + i] = argv[i];
    call(SYS_execve, (long)(intptr_t)self, words, environment, 0);
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
    char self[LONGEST_PATH], program[LONGEST_PATH];
    const char *launch = environment ? pw_env_value(environment, PW_LAUNCH_VARIABLE) : NULL;
    const char *path = launch ? next_field(launch) : NULL;
    const char *had = path ? next_field(path) : NULL;
    if (!had || argc < 1 || argc > MOST_WORDS || pw_rank_is_launcher(argv) ||
        pw_rank_find(environment, had) == PW_RANK_NONE)
        return;
    if (copy_field(path, self, sizeof(self)) && find_program(program, sizeof(program)) &&
        !is_profwrap(program))
        become_worker(self, program, argv, (size_t)argc, environment);
}

/* 0: there is nothing to audit, and the library is unloaded. */
unsigned la_version(unsigned version)
{
    (void)version;
    return 0;
}
