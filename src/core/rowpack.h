/* A table by step and rank whose rows are 64-bit integers, kept by rank, each member in as few
 * bytes as the differences from its least value need. For large tables of the merge, as the step
 * trace: times of one rank often differ by less than 2^24 ns. A rank's rows are put at once, and
 * read in any order. For tool code only, because it allocates. */
#ifndef PW_CORE_ROWPACK_H
#define PW_CORE_ROWPACK_H

#include <stddef.h>
#include <stdint.h>

enum { PW_ROWPACK_MEMBERS = 16 }; /* most members of a row */

/* One member of a rank's rows: the least value, and the differences from it at bytes[at]. */
struct pw_rowpack_member {
    int64_t least;
    size_t at;
    uint8_t width; /* bytes of a difference, 0 to 8 */
};

struct pw_rowpack_rank {
    struct pw_rowpack_member members[PW_ROWPACK_MEMBERS];
    uint8_t *bytes; /* NULL: no rows were put, all values are -1 */
};

struct pw_rowpack {
    size_t nsteps, nranks, nmembers;
    struct pw_rowpack_rank *ranks; /* [nranks] */
};

/* Makes a table of rows of `nmembers` values, all -1. Returns 0 or -ENOMEM. */
int pw_rowpack_init(struct pw_rowpack *rows, size_t nsteps, size_t nranks, size_t nmembers);

/* Sets the rows of a rank: values[nsteps][nmembers]. Returns 0 or -ENOMEM: then they are as
 * before. */
int pw_rowpack_put(struct pw_rowpack *rows, size_t rank, const int64_t *values);

/* Returns a member of a row. */
int64_t pw_rowpack_value(const struct pw_rowpack *rows, size_t rank, size_t step, size_t member);

/* Steps [first, first + count). */
struct pw_rowpack_span {
    size_t first, count;
};

/* Reads rows of a rank into values[span.count][nmembers]. */
void pw_rowpack_get(const struct pw_rowpack *rows, size_t rank, struct pw_rowpack_span span,
                    int64_t *values);

/* Reads a member of these rows into values[span.count]. */
void pw_rowpack_get_member(const struct pw_rowpack *rows, size_t rank, size_t member,
                           struct pw_rowpack_span span, int64_t *values);

/* Frees the members whose bit in `members` is 0, as far as memory can be given back; they are -1
 * afterwards. */
void pw_rowpack_keep(struct pw_rowpack *rows, uint32_t members);

void pw_rowpack_fini(struct pw_rowpack *rows);

#endif
