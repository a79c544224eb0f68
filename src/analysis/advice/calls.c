/* Finds the names of calls in a text and replaces them; see calls.h. */
#include "analysis/advice/calls.h"

#include <string.h>

static const struct {
    const char *in_c, *in_python; /* the latter is not longer */
} names[] = {
    {"profwrap_step(n) of profwrap.h, or MPI_Pcontrol(10),", "profwrap.step(n)"},
    {"profwrap_range_push() and _pop() of profwrap.h", "profwrap.op()"},
    {"profwrap_range_push() and _pop()", "profwrap.op()"},
    {"profwrap_phase() of profwrap.h", "profwrap.phase()"},
    {"profwrap_queue()", "profwrap.queue()"},
    {"profwrap_work()", "profwrap.work()"},
    {"MPI_Isend", "isend"}, /* of torch.distributed and of mpi4py */
};

/* 1 for "python3.11", "/usr/bin/python" and "train.py". */
static int is_python_word(const char *word, size_t length)
{
    size_t base = length;
    while (base > 0 && word[base - 1] != '/')
        base--;
    if (length - base >= 6 && strncmp(word + base, "python", 6) == 0)
        return 1;
    return length - base > 3 && strncmp(word + length - 3, ".py", 3) == 0;
}

int pw_calls_is_python(const struct pw_cluster *c)
{
    const char *end = c->command + strnlen(c->command, sizeof(c->command));
    for (const char *at = c->command; at < end;) {
        const char *stop = memchr(at, ' ', (size_t)(end - at));
        stop = stop ? stop : end;
        if (is_python_word(at, (size_t)(stop - at)))
            return 1;
        at = stop + 1;
    }
    return 0;
}

void pw_calls_name(const struct pw_cluster *c, char *text)
{
    if (!pw_calls_is_python(c))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t from = strlen(names[i].in_c), to = strlen(names[i].in_python);
        for (char *at = text; (at = strstr(at, names[i].in_c)) != NULL; at += to) {
            memcpy(at, names[i].in_python, to);
            memmove(at + to, at + from, strlen(at + from) + 1);
        }
    }
}
