/* See fuzz.h. The linker brings what the code under test says here (--wrap). */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/confine.h"
#include "core/h5types.h"

void __wrap_pw_error(const char *format, ...);
void __wrap_pw_say(const char *format, ...);
void __wrap_pw_h5_watch_install(void);

enum { RENEW = 16 };

static char directory[FUZZ_PATH];
static int errors;
static char last[1024];

static void fail(const char *what)
{
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

static void hear(const char *format, va_list args)
{
    vsnprintf(last, sizeof(last), format, args);
    for (const char *at = last; *at; at++)
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

/* A crash is what is looked for. */
void __wrap_pw_h5_watch_install(void)
{
}

/* For ever, and what it keeps away is to be found. */
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
}

void fuzz_begin(void)
{
    static unsigned begun;
    errors = 0;
    last[0] = '\0';
    /* It keeps every conversion that it ever made; and crashes where it could not close a file. */
    if (++begun % RENEW == 0 && H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) == 0) {
        H5close();
        pw_h5_quiet();
    }
}

void fuzz_judge(int status)
{
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
