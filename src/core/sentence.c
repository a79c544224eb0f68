/* Appends to texts; see sentence.h. */
#include "core/sentence.h"

#include <stdarg.h>
#include <stdio.h>

void pw_sentence_add(struct pw_sentence *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->out + s->used, s->size - s->used, format, args);
    va_end(args);
    s->used = n < 0 || (size_t)n >= s->size - s->used ? s->size - 1 : s->used + (size_t)n;
}
