/* libprofwrap_launch.so: replaces each process that a launcher starts as a rank by `profwrap
 * worker`, which runs the rank under profwrap.
 *
 * `profwrap LAUNCHER ...` puts this library into LD_AUDIT. The loader loads an auditor before
 * everything that the program needs. So when the auditor's constructor executes "profwrap worker
 * PATH program arguments", no code of the program has run, and no library is loaded twice. The
 * library does nothing in processes without a rank of this launcher, in launchers that run inside
 * it, in profwrap itself, and when execve() fails. It uses no other library, and the loader unloads
 * it again, so such a process pays only for loading it. */
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
    return -1; /* unknown architecture: no process is replaced */
#endif
}

/* Returns the next field of PW_LAUNCH_VARIABLE, or NULL. */
static const char *next_field(const char *at)
{
    while (*at && *at != PW_LAUNCH_FIELD)
        at++;
    return *at ? at + 1 : NULL;
}

/* Returns 1; 0 when the field is empty or too long. */
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

/* Writes the path of the executable; for a script, that of its interpreter. */
static int find_program(char *out, size_t size)
{
    static const char link[] = "/proc/self/exe";
    const long length = call(SYS_readlinkat, AT_FDCWD, link, out, (long)size - 1);
    if (length <= 0 || (size_t)length >= size - 1)
        return 0;
    out[length] = '\0';
    return 1;
}

/* Whether the program is `profwrap` itself, which the user put before the program: then that
 * process records. */
static int is_profwrap(const char *path)
{
    static const char own[] = "profwrap";
    const char *name = pw_bare_base_name(path);
    for (size_t i = 0; i < sizeof(own); i++)
        if (name[i] != own[i])
            return 0;
    return 1;
}

/* msrun has the rank's variables in its own environment. So they are also in the environment of the
 * programs with which it shows a worker's log and searches it for errors. */
static int is_log_reader(const char *program, enum pw_rank_row row)
{
    const char *name = pw_bare_base_name(program);
    return row == PW_RANK_MSRUN && (pw_bare_is_same(name, "tail") || pw_bare_is_same(name, "grep"));
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
    if (!had || argc < 1 || argc > MOST_WORDS || pw_rank_is_launcher(argv))
        return;
    const enum pw_rank_row row = pw_rank_find(environment, had);
    if (row == PW_RANK_NONE || is_log_reader(argv[0], row))
        return;
    if (copy_field(path, self, sizeof(self)) && find_program(program, sizeof(program)) &&
        !is_profwrap(program))
        become_worker(self, program, argv, (size_t)argc, environment);
}

/* Returns 0, by which the loader unloads the library. */
unsigned la_version(unsigned version)
{
    (void)version;
    return 0;
}
