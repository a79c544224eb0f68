/* Limits for numbers that are read from files, and sums that cannot overflow: a damaged file may
 * contain any number. Used by all code that computes with numbers from files. Pure functions. */
#ifndef PW_CORE_LIMITS_H
#define PW_CORE_LIMITS_H

#include <stdint.h>

/* The largest possible time or duration in ns, and the largest number of bytes; anything beyond is
 * damage. In ns it is 73 years; clocks count from the boot or from 1970. The sum of two such
 * numbers fits into int64_t, and so does the difference of two such sums. */
#define PW_LIMIT ((int64_t)1 << 61)

static inline int pw_is_possible(int64_t number)
{
    return number >= -PW_LIMIT && number <= PW_LIMIT;
}

/* Returns a + b; INT64_MAX or INT64_MIN when it overflows. */
static inline int64_t pw_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

/* Returns a - b; INT64_MAX or INT64_MIN when it overflows. */
static inline int64_t pw_difference(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}

/* Returns the number without its fraction, at most PW_LIMIT and at least -PW_LIMIT; 0 for NaN. */
static inline int64_t pw_whole(double number)
{
    const double most = (double)PW_LIMIT;
    return number >= most     ? PW_LIMIT
           : number <= -most  ? -PW_LIMIT
           : number == number ? (int64_t)number
                              : 0;
}

#endif
