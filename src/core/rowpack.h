/* A table by step and rank whose rows are 64-bit integers, kept by rank, each member in as few
 * bytes as the differences from its least value need: the step trace, which is the largest table of
 * the merge (88 bytes a row; 20 to 40 here). A rank's rows are put at once, and read in any order.
 * No MPI. */
#ifndef PW_AGGREGATE_SECONDPASS_NARROWROWS_H
#define PW_AGGREGATE_SECONDPASS_NARROWROWS_H

#include <stddef.h>
#include <stdint.h>

enum { PW_NARROW_MEMBERS = 16 }; /* most members of a row */

/* One member of a rank's rows: the least value, and the differences from it at bytes[at]. */
struct pw_narrow_member {
    int64_t least;
    size_t at;
    uint8_t width; /* bytes of a difference, 0 to 8 */
};

struct pw_narrow_rank {
    struct pw_narrow_member members[PW_NARROW_MEMBERS];
    uint8_t *bytes; /* NULL: no rows were put, all values are -1 */
};

struct pw_narrow_rows {
    size_t nsteps, nranks, nmembers;
    struct pw_narrow_rank *ranks; /* [nranks] */
};

/* Makes a table of rows of `nmembers` values, all -1. Returns 0 or -ENOMEM. */
int pw_narrow_init(struct pw_narrow_rows *rows, size_t nsteps, size_t nranks, size_t nmembers);

/* Sets the rows of a rank: values[nsteps][nmembers]. Returns 0 or -ENOMEM: then they are as
 * before. */
int pw_narrow_put(struct pw_narrow_rows *rows, size_t rank, const int64_t *values);

/* Returns a member of a row. */
int64_t pw_narrow_value(const struct pw_narrow_rows *rows, size_t rank, size_t step, size_t member);

/* Reads `count` rows of a rank from step `first` on into values[count][nmembers]. */
void pw_narrow_get(const struct pw_narrow_rows *rows, size_t rank, size_t first, size_t count,
                   int64_t *values);

/* Frees the members whose bit in `members` is 0, as far as memory can be given back; they are -1
 * afterwards. */
void pw_narrow_keep(struct pw_narrow_rows *rows, uint32_t members);

void pw_narrow_fini(struct pw_narrow_rows *rows);

#endif
