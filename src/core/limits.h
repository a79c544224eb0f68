/* What numbers of files can be, and sums of them: a file may say anything, and no sum of what it
 * says may overflow. Used by all that compute with numbers of files. Pure functions. */
#ifndef PW_CORE_LIMITS_H
#define PW_CORE_LIMITS_H

#include <stdint.h>

/* Times and durations in ns, and bytes of a message, beyond which they are damage: 73 years. Clocks
 * count from the boot or from 1970. The sum of two, or the difference of two sums, still fits. */
#define PW_LIMIT ((int64_t)1 << 61)

static inline int pw_is_possible(int64_t number)
{
    return number >= -PW_LIMIT && number <= PW_LIMIT;
}

/* a + b, or the largest or smallest number where that is beyond it. */
static inline int64_t pw_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > 0 ? INT64_MAX : INT64_MIN;
}

/* a - b, cut in the same way. */
static inline int64_t pw_difference(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b < 0 ? INT64_MAX : INT64_MIN;
}

/* The number in whole, 0 for what is none, or the limit it is beyond. */
static inline int64_t pw_whole(double number)
{
    const double most = (double)PW_LIMIT;
    return number >= most     ? PW_LIMIT
           : number <= -most  ? -PW_LIMIT
           : number == number ? (int64_t)number
                              : 0;
}

#endif
