/* Decimal numbers of JSON as integers, without a double between: a time of 16 digits and three
 * decimals has more than a double holds. */
#ifndef PW_IMPORT_DECIMAL_H
#define PW_IMPORT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/* The number times 10^power, power in 0..18, what is below 1 rounded half away from zero. 0;
 * -EINVAL when the text is no decimal number; -ERANGE when the result is beyond 73 years of ns
 * (core/limits.h). */
int pw_decimal_scale(const char *text, size_t length, int power, int64_t *out);

#endif
