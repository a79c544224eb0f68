/* Sums of operators: by name, by call path, by shapes, and by rank. Every merge process has a tree
 * of operators and one of kernels, for the ranks whose files it reads; opreduce.c joins the trees
 * by the text of names. opread.c and kernelrows.c fill them. Sums do not depend on their order. No
 * MPI, no I/O. */
#ifndef PW_AGGREGATE_OPERATORS_OPTREE_H
#define PW_AGGREGATE_OPERATORS_OPTREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/hash.h"

/* ---- quantiles of durations ---- */

/* A histogram of durations: its classes that are not empty, sorted, as class << 48 | count. {0} is
 * empty. */
struct pw_sketch {
    uint64_t *v;
    uint32_t n, capacity;
};

/* Adds `count` durations of `ns` >= 0. Returns 0 or -ENOMEM. */
int pw_sketch_add(struct pw_sketch *sketch, int64_t ns, uint64_t count);

/* Adds `n` classes of another sketch. Returns 0 or -ENOMEM. */
int pw_sketch_join(struct pw_sketch *into, const uint64_t *v, size_t n);

/* Returns the q-quantile (0..1) as the middle of its class; -1 when the sketch is empty. */
int64_t pw_sketch_quantile(const struct pw_sketch *sketch, double q);

void pw_sketch_fini(struct pw_sketch *sketch);

enum {
    PW_OPTREE_NAME = 256,      /* bytes of a name that are compared, with the NUL */
    PW_OPTREE_TYPE = 64,       /* bytes of a type that are compared, with the NUL */
    PW_OPTREE_MOST = 1 << 21,  /* limit of names, of paths, and of shapes */
    PW_OPTREE_CELLS = 1 << 11, /* limit of operators with figures for a single rank */
};

/* Wide enough that no sum overflows, so that sums do not depend on their order. */
__extension__ typedef __int128 pw_wide;

/* Returns the nearest int64_t. */
static inline int64_t pw_narrow(pw_wide sum)
{
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

/* Sums over the calls of an operator, path or shape. Members with `inner` are sums over the ranges
 * directly inside these calls: self = all - inner. */
struct pw_opsum {
    pw_wide total_ns, inner_ns, wait_ns, inner_wait_ns, alloc_bytes, inner_alloc_bytes;
    int64_t calls, min_ns, max_ns;
    int64_t peak_alloc_bytes; /* largest of any call */
    struct pw_sketch times;
};

struct pw_opname {
    uint32_t name, type; /* numbers of texts */
    uint32_t kind;       /* enum pw_kind */
    int32_t ranks;       /* number of ranks that called it */
    int32_t max_rank;    /* rank with the largest own time; -1: none */
    pw_wide max_own_ns;
    pw_wide total_ns, self_ns, self_wait_ns; /* of all ranks that have ended */
    int64_t calls;                           /* of all ranks that have ended */
};

struct pw_oppath {
    int32_t parent; /* a path with a smaller number; -1: none */
    int32_t op;
    struct pw_opsum sum;
};

struct pw_opshape {
    int32_t op;
    uint32_t shapes; /* text, not "" */
    struct pw_opsum sum;
};

/* One rank's calls of one operator; op -1: of all operators. */
struct pw_opcell {
    int32_t op, rank;
    int64_t calls;
    pw_wide total_ns, self_ns, self_wait_ns;
};

struct pw_optexts {
    char *bytes;
    size_t used, room;
    size_t *at; /* [n] where each text begins */
    size_t capacity;
    uint32_t n;
    struct pw_hash by_text;
};

/* {0} is an empty tree. */
struct pw_optree {
    struct pw_optexts texts;
    struct pw_opname *ops;
    struct pw_oppath *paths;
    struct pw_opshape *shapes;
    struct pw_opcell *cells;
    size_t nops, npaths, nshapes, ncells;
    size_t ops_capacity, paths_capacity, shapes_capacity, cells_capacity;
    struct pw_hash by_op, by_path, by_shape;
    int64_t unlisted; /* calls of operators beyond the limits */
    int64_t unpeaked; /* number of ranks without memory peaks */
    int32_t nranks;   /* number of ranks that have operators */
};

/* Returns the number of a text, or -ENOMEM. Adds the text if it is new. At most `most` - 1 bytes of
 * the text count. */
int64_t pw_optree_text(struct pw_optree *tree, const char *text, size_t most);

const char *pw_optree_borrow_text(const struct pw_optree *tree, uint32_t text);

/* Each returns a number, of an operator, of a path, or of an operator with shapes, and adds the
 * item if it is new; or returns -ENOMEM, or -ENOSPC when there are too many. */
int32_t pw_optree_op(struct pw_optree *tree, uint32_t name, uint32_t type, uint32_t kind);
int32_t pw_optree_path(struct pw_optree *tree, int32_t parent, int32_t op);
int32_t pw_optree_shape(struct pw_optree *tree, int32_t op, uint32_t shapes);

/* Ends a rank: sums up the ranges that were added since the last call. Returns 0 or -ENOMEM. */
int pw_optree_end_rank(struct pw_optree *tree, int32_t rank);

/* Adds the sums of `more`. Returns 0 or -ENOMEM. */
int pw_opsum_join(struct pw_opsum *into, const struct pw_opsum *more);

/* Returns 1 when the operator's time is work, which is true of all but frames of functions. */
int pw_opname_counts(const struct pw_opname *op);

void pw_optree_fini(struct pw_optree *tree);

/* ---- self times of operators in windows of steps ---- */

enum { PW_OPWINDOWS_MOST = 64 };

struct pw_opwindows {
    /* [steps of the rank] bit w: the step is in window w; the caller's memory */
    const uint64_t *steps;
    size_t nwindows;
    int64_t *self_ns; /* [capacity * nwindows] */
    size_t capacity;  /* number of operators */
};

/* Makes room for operators 0 .. nops - 1. Returns 0 or -ENOMEM. */
int pw_opwindows_reserve(struct pw_opwindows *windows, size_t nops);

/* Adds `ns` to an operator, for which there must be room, in all windows of the mask. */
void pw_opwindows_add(struct pw_opwindows *windows, uint64_t mask, int32_t op, int64_t ns);

/* Returns the self time of an operator in a window, at least 0; 0 for an operator without room. */
int64_t pw_opwindows_self(const struct pw_opwindows *windows, int32_t op, size_t window);

/* Frees the sums. */
void pw_opwindows_fini(struct pw_opwindows *windows);

#endif
