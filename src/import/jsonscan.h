/* Where a JSON value ends, without a look at what is in it: quotes, escapes and brackets only. */
#ifndef PW_IMPORT_JSONSCAN_H
#define PW_IMPORT_JSONSCAN_H

/* Bytes behind `end` that may be read. */
enum { PW_JSONSCAN_PADDING = 16 };

/* Behind the value that begins at `at`, or NULL when it does not end before `end`. A number or word
 * ends where something else follows. */
const char *pw_jsonscan_value(const char *at, const char *end);

/* The first byte from `at` on that is no white space, or `end`. */
const char *pw_jsonscan_space(const char *at, const char *end);

#endif
