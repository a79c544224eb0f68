/* A text that is put together piece by piece; what does not fit is cut off. */
#ifndef PW_CORE_SENTENCE_H
#define PW_CORE_SENTENCE_H

#include <stddef.h>

/* What has been said so far; `out` has `size` bytes, more than none. */
struct pw_sentence {
    char *out;
    size_t size, used;
};

/* Begins to write over `out`. */
static inline struct pw_sentence pw_sentence_on(char *out, size_t size)
{
    return (struct pw_sentence){out, size, 0};
}

__attribute__((format(printf, 2, 3))) void pw_sentence_add(struct pw_sentence *sentence,
                                                           const char *format, ...);

#endif
