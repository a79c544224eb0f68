/* Differences are stored as the low bytes of 64-bit words (little-endian, as rank files are); see
 * narrowrows.h. */
#include "aggregate/secondpass/narrowrows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) }; /* what is read and written at once, also for the last value */

int pw_narrow_init(struct pw_narrow_rows *rows, size_t nsteps, size_t nranks, size_t nmembers)
{
    assert(nmembers <= PW_NARROW_MEMBERS);
    *rows = (struct pw_narrow_rows){nsteps, nranks, nmembers, NULL};
    rows->ranks = calloc(nranks + 1, sizeof(*rows->ranks));
    return rows->ranks ? 0 : -ENOMEM;
}

void pw_narrow_fini(struct pw_narrow_rows *rows)
{
    for (size_t r = 0; rows->ranks && r < rows->nranks; r++)
        free(rows->ranks[r].bytes);
    free(rows->ranks);
    *rows = (struct pw_narrow_rows){0};
}

static uint64_t difference(int64_t value, int64_t least)
{
    return (uint64_t)value - (uint64_t)least;
}

/* Finds the least value of each member and the width of the differences. Returns the bytes that
 * they need. */
static size_t measure(const struct pw_narrow_rows *rows, const int64_t *values,
                      struct pw_narrow_member *members)
{
    const size_t m = rows->nmembers;
    int64_t least[PW_NARROW_MEMBERS], most[PW_NARROW_MEMBERS];
    size_t at = 0;
    for (size_t i = 0; i < m; i++) {
        least[i] = INT64_MAX;
        most[i] = INT64_MIN;
    }
    for (size_t s = 0; s < rows->nsteps; s++)
        for (size_t i = 0; i < m; i++) {
            const int64_t value = values[s * m + i];
            least[i] = value < least[i] ? value : least[i];
            most[i] = value > most[i] ? value : most[i];
        }
    for (size_t i = 0; i < m; i++) {
        const uint64_t range = rows->nsteps ? difference(most[i], least[i]) : 0;
        const int bits = range ? 64 - __builtin_clzll(range) : 0;
        members[i] = (struct pw_narrow_member){least[i], at, (uint8_t)((bits + 7) / 8)};
        at += members[i].width * rows->nsteps;
    }
    return at;
}

int pw_narrow_put(struct pw_narrow_rows *rows, size_t rank, const int64_t *values)
{
    const size_t m = rows->nmembers;
    struct pw_narrow_rank made = {.bytes = NULL};
    made.bytes = malloc(measure(rows, values, made.members) + WORD);
    if (!made.bytes)
        return -ENOMEM;
    /* A word's upper bytes are overwritten by the values after it, so the order is by address. */
    for (size_t i = 0; i < m; i++) {
        const struct pw_narrow_member *member = &made.members[i];
        for (size_t s = 0; s < rows->nsteps && member->width; s++) {
            const uint64_t word = difference(values[s * m + i], member->least);
            memcpy(made.bytes + member->at + s * member->width, &word, WORD);
        }
    }
    free(rows->ranks[rank].bytes);
    rows->ranks[rank] = made;
    return 0;
}

static int64_t value_at(const struct pw_narrow_rank *rank, const struct pw_narrow_member *member,
                        size_t step)
{
    uint64_t word;
    memcpy(&word, rank->bytes + member->at + step * member->width, WORD);
    word = member->width ? word & UINT64_MAX >> (64 - 8 * member->width) : 0;
    return (int64_t)((uint64_t)member->least + word);
}

int64_t pw_narrow_value(const struct pw_narrow_rows *rows, size_t rank, size_t step, size_t member)
{
    const struct pw_narrow_rank *r = &rows->ranks[rank];
    return r->bytes ? value_at(r, &r->members[member], step) : -1;
}

void pw_narrow_get(const struct pw_narrow_rows *rows, size_t rank, size_t first, size_t count,
                   int64_t *values)
{
    const size_t m = rows->nmembers;
    const struct pw_narrow_rank *r = &rows->ranks[rank];
    for (size_t i = 0; i < m; i++)
        for (size_t s = 0; s < count; s++)
            values[s * m + i] = r->bytes ? value_at(r, &r->members[i], first + s) : -1;
}

void pw_narrow_keep(struct pw_narrow_rows *rows, uint32_t members)
{
    for (size_t r = 0; r < rows->nranks; r++) {
        struct pw_narrow_rank *rank = &rows->ranks[r];
        size_t end = 0;
        for (size_t i = 0; i < rows->nmembers && rank->bytes; i++) {
            struct pw_narrow_member *member = &rank->members[i];
            const size_t from = member->at, n = member->width * rows->nsteps;
            if (!(members >> i & 1))
                *member = (struct pw_narrow_member){.least = -1};
            else
                memmove(rank->bytes + end, rank->bytes + from, n);
            member->at = end;
            end += members >> i & 1 ? n : 0;
        }
        uint8_t *fewer = rank->bytes ? realloc(rank->bytes, end + WORD) : NULL;
        rank->bytes = fewer ? fewer : rank->bytes;
    }
}
