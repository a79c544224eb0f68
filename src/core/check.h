/* Assertions about the ring, the journal and the tables, for developers: built with
 * -DPROFWRAP_ASSERT=cheap (on slow paths) or full (on every record, too). Without that macro they
 * are not compiled, so a release build runs none of them inside an application. A check that fails
 * ends the process with SIGABRT after one line on standard error. Do not check data from outside
 * with them (files, shared memory that an application can write to): handle wrong values there as
 * bad input.
 */
#ifndef PW_CORE_CHECK_H
#define PW_CORE_CHECK_H

#if PW_ASSERT_LEVEL > 0
#include <stdio.h>
#include <stdlib.h>

__attribute__((noreturn, cold)) static inline void pw_check_failed(const char *what,
                                                                   const char *file, int line)
{
    fprintf(stderr, "profwrap: %s:%d: %s does not hold\n", file, line, what);
    abort();
}

#define PW_CHECK(holds) ((holds) ? (void)0 : pw_check_failed(#holds, __FILE__, __LINE__))
#else
#define PW_CHECK(holds) ((void)0)
#endif

#if PW_ASSERT_LEVEL > 1
#define PW_CHECK_FULL(holds) PW_CHECK(holds)
#else
#define PW_CHECK_FULL(holds) ((void)0)
#endif

#endif
