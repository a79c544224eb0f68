/* Sentences for people and diagnostics for developers; see log.h. */
#include "core/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int quiet_requested;

static char file_path[4200]; /* "": none */
static int has_left;         /* all messages go to the file */

void pw_log_set_file(const char *path)
{
    snprintf(file_path, sizeof(file_path), "%s", path);
}

void pw_log_leave_terminal(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0) { /* no descriptor is free */
        close(STDIN_FILENO);
        nothing = open("/dev/null", O_RDWR);
    }
    has_left = 1;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && nothing >= 0; fd++)
        if (fd != nothing)
            dup2(nothing, fd);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

void pw_log_set_quiet(int quiet)
{
    quiet_requested = quiet;
}

/* Replaces control characters by '?', also those of two bytes in UTF-8: a name, value or path that
 * a sentence quotes must not send commands to the terminal. */
static void make_printable(char *line)
{
    for (unsigned char *c = (unsigned char *)line; *c; c++) {
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            c[0] = c[1] = '?';
    }
}

/* Appends the line to the file. The file is opened for each line, because most processes have
 * nothing to say. */
static void write_line(const char *line)
{
    const int fd =
        open(file_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    dprintf(fd, "%s\n", line);
    close(fd);
}

/* Prints with one write(), so that lines of several ranks do not mix. */
static void print_line(const char *prefix, const char *format, va_list args)
{
    char line[1024];
    int n = snprintf(line, sizeof(line), "profwrap: %s", prefix);
    vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    make_printable(line);
    if ((has_left || fprintf(stderr, "%s\n", line) < 0) && file_path[0])
        write_line(line);
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

static const char *const domain_names[] = {
#define DOMAIN_NAME(id, name, what) #name,
    PW_LOG_DOMAINS(DOMAIN_NAME)
#undef DOMAIN_NAME
};

/* Reads one part of PROFWRAP_LOG ("merge:2,ring:1") at `at`. Returns its level when it names
 * `domain`, else -1. */
static int level_at(const char *at, enum pw_log_domain domain)
{
    const char *name = domain_names[domain];
    const size_t length = strlen(name);
    const int is_it = strncmp(at, name, length) == 0 && at[length] == ':' &&
                      at[length + 1] >= '0' && at[length + 1] <= '9';
    return is_it ? atoi(at + length + 1) : -1;
}

/* Returns the text after the next comma, or NULL. */
static const char *next_part(const char *at)
{
    at = strchr(at, ',');
    return at ? at + 1 : NULL;
}

int pw_log_wants(enum pw_log_domain domain, int level)
{
    for (const char *at = getenv("PROFWRAP_LOG"); at; at = next_part(at))
        if (level_at(at, domain) >= 0)
            return level_at(at, domain) >= level;
    return 0;
}

void pw_log_check(void)
{
    for (const char *at = getenv("PROFWRAP_LOG"); at && *at; at = next_part(at)) {
        int known = 0;
        for (int d = 0; d < PW_LOG_END; d++)
            known |= level_at(at, (enum pw_log_domain)d) >= 0;
        if (!known)
            pw_error("PROFWRAP_LOG has '%.*s', which is not DOMAIN:LEVEL with a domain "
                     "of" PW_LOG_DOMAIN_LIST,
                     (int)strcspn(at, ","), at);
    }
}

void pw_debug(enum pw_log_domain domain, int level, const char *format, ...)
{
    if (!pw_log_wants(domain, level))
        return;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "[%s] ", domain_names[domain]);
    va_list args;
    va_start(args, format);
    print_line(prefix, format, args);
    va_end(args);
}
