/* What is known of operators, summed up: by name, by call path, by shapes, and by rank. Every merge
 * process has a tree of operators and one of kernels, for the ranks whose files it reads;
 * opreduce.c joins them by the names' text. opread.c and kernelrows.c fill them. Sums do not depend
 * on their order. No MPI, no I/O. */
#ifndef PW_AGGREGATE_OPERATORS_OPTREE_H
#define PW_AGGREGATE_OPERATORS_OPTREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/hash.h"

/* ---- quantiles of durations ---- */

/* Classes that hold something, in their order: class << 48 | count. {0} is empty. */
struct pw_sketch {
    uint64_t *v;
    uint32_t n, capacity;
};

/* `count` durations of `ns` >= 0. 0 or -ENOMEM. */
int pw_sketch_add(struct pw_sketch *sketch, int64_t ns, uint64_t count);

/* Adds `n` classes of another sketch, which may be in any memory. 0 or -ENOMEM. */
int pw_sketch_join(struct pw_sketch *into, const uint64_t *v, size_t n);

/* The q-quantile (0..1), the middle of its class; -1 when it is empty. */
int64_t pw_sketch_quantile(const struct pw_sketch *sketch, double q);

void pw_sketch_fini(struct pw_sketch *sketch);

enum {
    PW_OPTREE_NAME = 256,      /* bytes of a name that tell it from others, with the NUL */
    PW_OPTREE_TYPE = 64,       /* bytes of a type that tell it from others, with the NUL */
    PW_OPTREE_MOST = 1 << 21,  /* names, paths and shapes that are told apart, each */
    PW_OPTREE_CELLS = 1 << 11, /* operators of which a rank's own figures are kept */
};

/* No sum of what files say is beyond it, so that sums do not depend on their order. */
__extension__ typedef __int128 pw_wide;

/* The nearest number of 64 bits. */
static inline int64_t pw_narrow(pw_wide sum)
{
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

/* Sums over the calls of something; `inner` and what begins with it are of what is directly inside:
 * self = all - inner. */
struct pw_opsum {
    pw_wide total_ns, inner_ns, wait_ns, inner_wait_ns, alloc_bytes, inner_alloc_bytes;
    int64_t calls, min_ns, max_ns;
    int64_t peak_alloc_bytes; /* of any call */
    struct pw_sketch times;
};

struct pw_opname {
    uint32_t name, type; /* texts */
    uint32_t kind;       /* enum pw_kind */
    int32_t ranks;       /* that called it */
    int32_t max_rank;    /* -1: none has */
    pw_wide max_own_ns;
    pw_wide total_ns, self_ns, self_wait_ns; /* of all ranks that are ended */
    int64_t calls;                           /* of all ranks that are ended */
};

struct pw_oppath {
    int32_t parent; /* a path before this one, -1: none */
    int32_t op;
    struct pw_opsum sum;
};

struct pw_opshape {
    int32_t op;
    uint32_t shapes; /* text, not "" */
    struct pw_opsum sum;
};

/* One rank's calls of one operator; op -1: of all. */
struct pw_opcell {
    int32_t op, rank;
    int64_t calls;
    pw_wide total_ns, self_ns, self_wait_ns;
};

struct pw_optexts {
    char *bytes;
    size_t used, room;
    size_t *at; /* [n] where each begins */
    size_t capacity;
    uint32_t n;
    struct pw_hash by_text;
};

/* {0} is an empty one. */
struct pw_optree {
    struct pw_optexts texts;
    struct pw_opname *ops;
    struct pw_oppath *paths;
    struct pw_opshape *shapes;
    struct pw_opcell *cells;
    size_t nops, npaths, nshapes, ncells;
    size_t ops_capacity, paths_capacity, shapes_capacity, cells_capacity;
    struct pw_hash by_op, by_path, by_shape;
    int64_t unlisted; /* calls of what was too many to be told apart */
    int64_t unpeaked; /* ranks whose peaks are not known */
    int32_t nranks;   /* that have operators */
};

/* Number of a text, of which at most `most` - 1 bytes count; or -ENOMEM. */
int64_t pw_optree_text(struct pw_optree *tree, const char *text, size_t most);

const char *pw_optree_borrow_text(const struct pw_optree *tree, uint32_t text);

/* Number of an operator, of a path and of an operator with shapes; made when they are not there.
 * -ENOMEM, or -ENOSPC when there are too many. */
int32_t pw_optree_op(struct pw_optree *tree, uint32_t name, uint32_t type, uint32_t kind);
int32_t pw_optree_path(struct pw_optree *tree, int32_t parent, int32_t op);
int32_t pw_optree_shape(struct pw_optree *tree, int32_t op, uint32_t shapes);

/* Sums up the rank whose ranges have been added since the last call. 0 or -ENOMEM. */
int pw_optree_end_rank(struct pw_optree *tree, int32_t rank);

/* Adds the figures of `more`. 0 or -ENOMEM. */
int pw_opsum_join(struct pw_opsum *into, const struct pw_opsum *more);

/* Operators whose time is work: all but the frames of functions. */
int pw_opname_counts(const struct pw_opname *op);

void pw_optree_fini(struct pw_optree *tree);

/* Self time of operators in some windows of steps, by operator of a tree and window. */

enum { PW_OPWINDOWS_MOST = 64 };

struct pw_opwindows {
    const uint64_t
        *steps; /* of each of a rank's steps, bit w: it is one of window w; the caller's */
    size_t nwindows;
    int64_t *self_ns; /* [capacity * nwindows] */
    size_t capacity;  /* operators */
};

/* Room for operators 0 .. nops-1. 0 or -ENOMEM. */
int pw_opwindows_reserve(struct pw_opwindows *windows, size_t nops);

/* Adds to one operator, for which there is room, in all windows of the mask. */
void pw_opwindows_add(struct pw_opwindows *windows, uint64_t mask, int32_t op, int64_t ns);

/* The self time of one operator in one window: at least 0, and 0 for one that there is no room for.
 */
int64_t pw_opwindows_self(const struct pw_opwindows *windows, int32_t op, size_t window);

/* Frees the sums. */
void pw_opwindows_fini(struct pw_opwindows *windows);

#endif
