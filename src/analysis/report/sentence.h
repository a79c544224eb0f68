/* A text that is put together piece by piece; what does not fit is cut off. */
#ifndef PW_ANALYSIS_REPORT_SENTENCE_H
#define PW_ANALYSIS_REPORT_SENTENCE_H

#include <stddef.h>

/* What has been said so far; `out` has `size` bytes, more than none. */
struct pw_sentence {
    char *out;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) void pw_sentence_add(struct pw_sentence *sentence,
                                                           const char *format, ...);

#endif
