/* Differences are stored as the low bytes of 64-bit words (little-endian, as rank files are); see
 * rowpack.h. */
#include "core/rowpack.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = sizeof(uint64_t) }; /* what is read and written at once, also for the last value */

int pw_rowpack_init(struct pw_rowpack *rows, size_t nsteps, size_t nranks, size_t nmembers)
{
    assert(nmembers <= PW_ROWPACK_MEMBERS);
    *rows = (struct pw_rowpack){nsteps, nranks, nmembers, NULL};
    rows->ranks = calloc(nranks + 1, sizeof(*rows->ranks));
    return rows->ranks ? 0 : -ENOMEM;
}

void pw_rowpack_fini(struct pw_rowpack *rows)
{
    for (size_t r = 0; rows->ranks && r < rows->nranks; r++)
        free(rows->ranks[r].bytes);
    free(rows->ranks);
    *rows = (struct pw_rowpack){0};
}

static uint64_t difference(int64_t value, int64_t least)
{
    return (uint64_t)value - (uint64_t)least;
}

/* Finds the least value of each member and the width of the differences. Returns the bytes that
 * they need. */
static size_t measure(const struct pw_rowpack *rows, const int64_t *values,
                      struct pw_rowpack_member *members)
{
    const size_t m = rows->nmembers;
    int64_t least[PW_ROWPACK_MEMBERS], most[PW_ROWPACK_MEMBERS];
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
        members[i] = (struct pw_rowpack_member){least[i], at, (uint8_t)((bits + 7) / 8)};
        at += members[i].width * rows->nsteps;
    }
    return at;
}

int pw_rowpack_put(struct pw_rowpack *rows, size_t rank, const int64_t *values)
{
    const size_t m = rows->nmembers;
    struct pw_rowpack_rank made = {.bytes = NULL};
    made.bytes = malloc(measure(rows, values, made.members) + WORD);
    if (!made.bytes)
        return -ENOMEM;
    /* A word's upper bytes are overwritten by the values after it, so the order is by address. */
    for (size_t i = 0; i < m; i++) {
        const struct pw_rowpack_member *member = &made.members[i];
        for (size_t s = 0; s < rows->nsteps && member->width; s++) {
            const uint64_t word = difference(values[s * m + i], member->least);
            memcpy(made.bytes + member->at + s * member->width, &word, WORD);
        }
    }
    free(rows->ranks[rank].bytes);
    rows->ranks[rank] = made;
    return 0;
}

static uint64_t mask_of(const struct pw_rowpack_member *member)
{
    return member->width ? UINT64_MAX >> (64 - 8 * member->width) : 0;
}

static int64_t value_at(const uint8_t *at, int64_t least, uint64_t mask)
{
    uint64_t word;
    memcpy(&word, at, WORD);
    return (int64_t)((uint64_t)least + (word & mask));
}

int64_t pw_rowpack_value(const struct pw_rowpack *rows, size_t rank, size_t step, size_t member)
{
    const struct pw_rowpack_rank *r = &rows->ranks[rank];
    const struct pw_rowpack_member *m = &r->members[member];
    return r->bytes ? value_at(r->bytes + m->at + step * m->width, m->least, mask_of(m)) : -1;
}

/* Reads `count` values of a member; each is `stride` values after the one before. */
static void read_member(const struct pw_rowpack_rank *rank, const struct pw_rowpack_member *member,
                        struct pw_rowpack_span span, int64_t *values, size_t stride)
{
    const size_t width = member->width;
    const uint8_t *at = rank->bytes + member->at + span.first * width;
    const uint64_t mask = mask_of(member);
    const int64_t least = member->least;
    for (size_t s = 0; s < span.count; s++)
        values[s * stride] = value_at(at + s * width, least, mask);
}

void pw_rowpack_get(const struct pw_rowpack *rows, size_t rank, struct pw_rowpack_span span,
                    int64_t *values)
{
    const struct pw_rowpack_rank *r = &rows->ranks[rank];
    for (size_t i = 0; i < rows->nmembers && r->bytes; i++)
        read_member(r, &r->members[i], span, values + i, rows->nmembers);
    if (!r->bytes)
        memset(values, 0xff, span.count * rows->nmembers * sizeof(*values));
}

void pw_rowpack_get_member(const struct pw_rowpack *rows, size_t rank, size_t member,
                           struct pw_rowpack_span span, int64_t *values)
{
    const struct pw_rowpack_rank *r = &rows->ranks[rank];
    if (r->bytes)
        read_member(r, &r->members[member], span, values, 1);
    else
        memset(values, 0xff, span.count * sizeof(*values));
}

void pw_rowpack_keep(struct pw_rowpack *rows, uint32_t members)
{
    for (size_t r = 0; r < rows->nranks; r++) {
        struct pw_rowpack_rank *rank = &rows->ranks[r];
        size_t end = 0;
        for (size_t i = 0; i < rows->nmembers && rank->bytes; i++) {
            struct pw_rowpack_member *member = &rank->members[i];
            const size_t from = member->at, n = member->width * rows->nsteps;
            if (!(members >> i & 1))
                *member = (struct pw_rowpack_member){.least = -1};
            else
                memmove(rank->bytes + end, rank->bytes + from, n);
            member->at = end;
            end += members >> i & 1 ? n : 0;
        }
        uint8_t *fewer = rank->bytes ? realloc(rank->bytes, end + WORD) : NULL;
        rank->bytes = fewer ? fewer : rank->bytes;
    }
    malloc_trim(0); /* else the room between the rows of ranks stays with the process */
}
