/* How much memory a rank's collector may take for what grows with the program: names, call stacks,
 * communicators. Charged by the tables of rank/file and by the tool halves of collectors. What does
 * not fit is refused and counted, so that it never takes memory from the program or the system.
 * Tool code, one thread. */
#ifndef PW_RANK_FILE_BUDGET_H
#define PW_RANK_FILE_BUDGET_H

#include <stdint.h>

struct pw_budget {
    int64_t limit_bytes; /* 0: none */
    int64_t used_bytes;
    int64_t refused; /* things that were not kept */
};

/* 1 when `bytes` more may be taken, which are then counted; else 0, and one more refused. */
static inline int pw_budget_take(struct pw_budget *budget, int64_t bytes)
{
    if (budget->limit_bytes && bytes > budget->limit_bytes - budget->used_bytes) {
        budget->refused++;
        return 0;
    }
    budget->used_bytes += bytes;
    return 1;
}

static inline void pw_budget_give(struct pw_budget *budget, int64_t bytes)
{
    budget->used_bytes -= bytes;
}

#endif
