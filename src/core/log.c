/* Sentences for people and diagnostics for developers; see log.h. */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int quiet_requested;

void pw_log_set_quiet(int quiet)
{
    quiet_requested = quiet;
}

/* What a sentence quotes (names, values, paths) may hold anything, but not act on a terminal: bytes
 * of control characters, also of those that UTF-8 has two bytes for, become '?'. */
static void make_printable(char *line)
{
    for (unsigned char *c = (unsigned char *)line; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = '?';
    }
}

/* One write: lines of several ranks must not mix. */
static void print_line(const char *prefix, const char *format, va_list args)
{
    char line[1024];
    int n = snprintf(line, sizeof(line), "profwrap: %s", prefix);
    vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    make_printable(line);
    fprintf(stderr, "%s\n", line);
}

void pw_say(const char *format, ...)
{
    if (quiet_requested)
        return;
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

void pw_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line("", format, args);
    va_end(args);
}

/* Level that PROFWRAP_LOG ("merge:2,ring:1") gives `domain`. */
static int wanted_level(const char *domain)
{
    const char *at = getenv("PROFWRAP_LOG");
    size_t length = strlen(domain);
    while (at && *at) {
        if (strncmp(at, domain, length) == 0 && at[length] == ':')
            return atoi(at + length + 1);
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return 0;
}

int pw_log_wants(const char *domain, int level)
{
    return wanted_level(domain) >= level;
}

void pw_debug(const char *domain, int level, const char *format, ...)
{
    if (!pw_log_wants(domain, level))
        return;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "[%s] ", domain);
    va_list args;
    va_start(args, format);
    print_line(prefix, format, args);
    va_end(args);
}
