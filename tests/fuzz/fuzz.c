/* See fuzz.h. The linker redirects the output functions of the tested code to this file
 * (--wrap). */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/confine.h"
#include "core/h5/h5types.h"
#include "core/readlimit.h"

void __wrap_pw_error(const char *format, ...);
void __wrap_pw_say(const char *format, ...);
void __wrap_pw_h5_watch_install(void);

/* The sanitizer's, where there is one. */
typedef void allocated_fn(const volatile void *, size_t);
typedef void freed_fn(const volatile void *);
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(allocated_fn *, freed_fn *);
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *);

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

enum {
    RENEW = 16,
    MOST_MORE_BYTES = 512 << 20,
    NOTED_BYTES = 1 << 20,
    MOST_CORPUS_BYTES = 1 << 20
};

/* Sizes of the heap, in bytes. */
static struct {
    _Atomic int64_t live, peak;
    _Atomic int64_t limit; /* 0: none */
    int64_t begun, input, noted;
} heap;

static char directory[FUZZ_PATH];
static int errors;
static char last[1024];

static void fail(const char *what)
{
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* What a message quotes may hold anything: pw_say() and pw_error() make it printable. */
static void hear(const char *format, va_list args)
{
    vsnprintf(last, sizeof(last), format, args);
    for (const char *at = format; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            fail("a message is not one plain line");
}

__attribute__((format(printf, 1, 2))) void __wrap_pw_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hear(format, args);
    va_end(args);
    errors++;
}

__attribute__((format(printf, 1, 2))) void __wrap_pw_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hear(format, args);
    va_end(args);
}

static void on_allocated(const volatile void *bytes, size_t size)
{
    (void)bytes;
    int64_t live = atomic_fetch_add(&heap.live, (int64_t)size) + (int64_t)size;
    if (live > atomic_load(&heap.peak)) /* of threads, about so much */
        atomic_store(&heap.peak, live);
}

static void on_freed(const volatile void *bytes)
{
    if (bytes)
        atomic_fetch_sub(&heap.live, (int64_t)__sanitizer_get_allocated_size(bytes));
}

/* Stands for the limit that core/readlimit.h sets for the commands: under one of the system the
 * sanitizer has no room. It is the smaller of that file's two, for the memory of small files. */
static int is_too_much(size_t size)
{
    int64_t limit = atomic_load(&heap.limit);
    if (!limit || (size <= INT64_MAX / 2 && atomic_load(&heap.live) + (int64_t)size <= limit))
        return 0;
    errno = ENOMEM;
    return 1;
}

#ifdef FUZZ_LIMITS_HEAP
void *__wrap_malloc(size_t size)
{
    return is_too_much(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return n && is_too_much(size > SIZE_MAX / n ? SIZE_MAX : n * size) ? NULL
                                                                       : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_too_much(size) ? NULL : __real_realloc(old, size);
}
#else
int (*const fuzz_unused)(size_t) = is_too_much;
#endif

/* For tests/fuzz/run, which takes the most. */
static void note_peak(int64_t bytes)
{
    const char *path = getenv("FUZZ_PEAK");
    FILE *file = path && bytes > heap.noted + NOTED_BYTES ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%lld\n", (long long)bytes);
    fclose(file);
    heap.noted = bytes;
}

/* A crash is what is looked for. */
void __wrap_pw_h5_watch_install(void)
{
}

/* Nothing: its limits hold for the rest of the process, and would hide what is to be found. */
void pw_confine(uint64_t input_bytes, unsigned needs)
{
    (void)input_bytes, (void)needs;
}

static void remove_directory(void)
{
    char command[FUZZ_PATH + 16];
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    if (directory[0] && system(command))
        fprintf(stderr, "fuzz: cannot remove %s\n", directory);
}

const char *fuzz_path(char out[FUZZ_PATH], const char *name)
{
    if (!directory[0]) {
        const char *where = getenv("TMPDIR");
        snprintf(directory, sizeof(directory), "%.3000s/pwfuzz-XXXXXX", where ? where : "/tmp");
        if (!mkdtemp(directory))
            fail("cannot make a directory in TMPDIR");
        atexit(remove_directory);
        pw_h5_quiet();
        if (__sanitizer_install_malloc_and_free_hooks)
            __sanitizer_install_malloc_and_free_hooks(on_allocated, on_freed);
    }
    if (snprintf(out, FUZZ_PATH, "%.3500s/%s", directory, name) >= FUZZ_PATH)
        fail("a path is too long");
    return out;
}

void fuzz_put(char out[FUZZ_PATH], const char *name, const uint8_t *data, size_t size)
{
    FILE *file = fopen(fuzz_path(out, name), "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        fail("cannot write the input");
    heap.input = (int64_t)size;
}

const uint8_t *fuzz_put_corpus(const char *name, const char *from, size_t *size)
{
    static uint8_t bytes[MOST_CORPUS_BYTES];
    char path[FUZZ_PATH];
    snprintf(path, sizeof(path), "%s/%s", FUZZ_CORPUS, from);
    FILE *file = fopen(path, "rb");
    *size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
    if (!*size || *size == sizeof(bytes))
        fail("cannot read the corpus");
    fclose(file);
    fuzz_put(path, name, bytes, *size);
    return bytes;
}

void fuzz_empty(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strstr(entry->d_name, ".part"))
            fail("an unfinished file is left");
        if (entry->d_type != DT_DIR)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

void fuzz_begin(void)
{
    static unsigned begun;
    errors = 0;
    last[0] = '\0';
    /* It keeps every conversion that it ever made; and crashes where it could not close a file. */
    if (++begun % RENEW == 0 && H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) == 0) {
        H5close();
        pw_h5_types_forget();
        pw_h5_quiet();
    }
    heap.begun = atomic_load(&heap.live);
    atomic_store(&heap.peak, heap.begun);
    atomic_store(&heap.limit, heap.begun + heap.input + PW_READLIMIT_MORE_BYTES);
}

void fuzz_end(void)
{
    int64_t taken = atomic_load(&heap.peak) - heap.begun;
    atomic_store(&heap.limit, 0);
    note_peak(taken);
    if (taken > heap.input + MOST_MORE_BYTES)
        fail("more than 512 MiB of memory above the size of the input");
}

void fuzz_judge(int status)
{
    fuzz_end();
    if (status != 0 && status != 1)
        fail("the status is neither 0 nor 1");
    if (errors == status)
        return;
    fprintf(stderr, "fuzz: status %d after %d lines, the last '%s'\n", status, errors, last);
    fail("one line goes with status 1, and none with 0");
}

void fuzz_check_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("there is no report");
    for (int c = getc(file); c != EOF; c = getc(file))
        if ((c < ' ' && c != '\n') || c == 127)
            fail("a report has control characters");
    fclose(file);
}
