/* Compares the order of collectives; see callorder.h. */
#include "analysis/callorder.h"

#include <stdbool.h>

#include "core/sort.h"

enum {
    CONTEXT = 8, /* calls before the difference by which an earlier place like it is found */
    SURE = 2,    /* the fewest calls, before it or after it, that say something */
};

/* ---- hashes ---- */

static int by_count(const void *a, const void *b)
{
    const struct pw_callorder_sample *x = a, *y = b;
    PW_COMPARE(x->count, y->count);
    PW_COMPARE(x->hash, y->hash);
    PW_COMPARE(x->row, y->row);
    return 0;
}

static size_t same_count(const struct pw_callorder_sample *samples, size_t n, size_t first)
{
    size_t end = first;
    while (end < n && samples[end].count == samples[first].count)
        end++;
    return end - first;
}

/* Finds the largest and the smallest group of equal hashes; of equally large ones the one with the
 * lowest row. */
static void find_groups(const struct pw_callorder_sample *samples, struct pw_callorder_split *out)
{
    const size_t end = out->first + out->n;
    size_t smallest = SIZE_MAX, second = 0;
    out->nmost = 0;
    for (size_t i = out->first, next; i < end; i = next) {
        for (next = i; next < end && samples[next].hash == samples[i].hash;)
            next++;
        const size_t size = next - i;
        const bool leads = size > out->nmost || (size == out->nmost && samples[i].row < out->most);
        second = leads ? out->nmost : size > second ? size : second;
        if (leads) {
            out->nmost = size;
            out->most = samples[i].row;
        }
    }
    for (size_t i = out->first, next; i < end; i = next) {
        for (next = i; next < end && samples[next].hash == samples[i].hash;)
            next++;
        if (samples[i].row != out->most && next - i < smallest) {
            smallest = next - i;
            out->fewest = samples[i].row;
        }
    }
    out->is_even = second == out->nmost;
}

/* The largest number before the split of which both ranks have a hash. */
static int64_t last_agreed(const struct pw_callorder_sample *samples,
                           const struct pw_callorder_split *split)
{
    int64_t agreed = 0, of_most = -1, of_fewest = -1;
    for (size_t i = 0; i < split->first; i++) {
        if (samples[i].row == split->most)
            of_most = samples[i].count;
        if (samples[i].row == split->fewest)
            of_fewest = samples[i].count;
        if (of_most == of_fewest && of_most > agreed)
            agreed = of_most;
    }
    return agreed;
}

int pw_callorder_split(struct pw_callorder_sample *samples, size_t n,
                       struct pw_callorder_split *out)
{
    pw_sort(samples, n, sizeof(*samples), by_count);
    for (size_t i = 0, same; i < n; i += same) {
        same = same_count(samples, n, i);
        if (samples[i].hash == samples[i + same - 1].hash)
            continue;
        *out = (struct pw_callorder_split){.differ = samples[i].count, .first = i, .n = same};
        find_groups(samples, out);
        out->agreed = last_agreed(samples, out);
        return 1;
    }
    return 0;
}

/* ---- calls ---- */

static bool is_signed(const struct pw_ordered_call *call)
{
    return (call->signature & PW_CALLORDER_REDUCTION_MASK) != PW_REDUCTION_UNKNOWN;
}

static bool is_equal(const struct pw_ordered_call *a, const struct pw_ordered_call *b)
{
    const bool has_root = a->root >= 0 && b->root >= 0;
    if (a->op != b->op || (a->seq < 0) != (b->seq < 0))
        return false;
    return is_signed(a) && is_signed(b) ? a->signature == b->signature
                                        : !has_root || a->root == b->root;
}

/* Whether call `at` follows the one before it: none was left out of the list. */
static bool follows(const struct pw_ordered_call *calls, size_t at)
{
    size_t before = at;
    if (calls[at].seq < 0)
        return true;
    while (before-- > 0)
        if (calls[before].seq >= 0)
            return calls[at].seq == calls[before].seq + 1;
    return true;
}

/* How many calls of the lists are equal, at most `most`. */
static size_t equal_calls(const struct pw_ordered_call *a, const struct pw_ordered_call *b,
                          size_t most)
{
    size_t n = 0;
    while (n < most && is_equal(&a[n], &b[n]))
        n++;
    return n;
}

/* Whether a[at + 1] ... is b[at] ... to the end of one of the lists. */
static bool is_shifted(const struct pw_ordered_call *a, size_t na, const struct pw_ordered_call *b,
                       size_t nb, size_t at)
{
    const size_t left_a = na - at - 1, left_b = nb - at, most = left_a < left_b ? left_a : left_b;
    return most >= SURE && equal_calls(a + at + 1, b + at, most) == most;
}

/* Whether the calls before `at`, when they came before, were followed by `first` and `second`. The
 * last time counts. */
static bool was_followed_by(const struct pw_ordered_call *calls, size_t at,
                            const struct pw_ordered_call *first,
                            const struct pw_ordered_call *second)
{
    const size_t context = at / 2 < CONTEXT ? at / 2 : CONTEXT;
    if (context < SURE)
        return false;
    for (size_t end = at - 1; end-- > context;)
        if (equal_calls(calls + end - context, calls + at - context, context) == context)
            return is_equal(&calls[end], first) && is_equal(&calls[end + 1], second);
    return false;
}

static enum pw_callorder_kind kind_of(const struct pw_ordered_call *most, size_t nmost,
                                      const struct pw_ordered_call *other, size_t nother, size_t at)
{
    const bool skipped = is_shifted(most, nmost, other, nother, at);
    const bool extra = is_shifted(other, nother, most, nmost, at);
    if (skipped != extra)
        return skipped ? PW_CALLORDER_SKIPPED : PW_CALLORDER_EXTRA;
    if (was_followed_by(most, at, &most[at], &other[at]))
        return PW_CALLORDER_LIKELY;
    return PW_CALLORDER_OTHER;
}

static int64_t number_of(const struct pw_ordered_call *most, size_t nmost,
                         const struct pw_ordered_call *other, size_t nother, size_t at)
{
    for (size_t i = at; i < nmost || i < nother; i++) {
        if (i < nmost && most[i].seq >= 0)
            return most[i].seq;
        if (i < nother && other[i].seq >= 0)
            return other[i].seq;
    }
    for (size_t i = at; i-- > 0;)
        if (most[i].seq >= 0)
            return most[i].seq + 1;
    return -1;
}

void pw_callorder_compare(const struct pw_ordered_call *most, size_t nmost,
                          const struct pw_ordered_call *other, size_t nother,
                          struct pw_callorder_difference *out)
{
    const size_t n = nmost < nother ? nmost : nother;
    *out = (struct pw_callorder_difference){.kind = PW_CALLORDER_SAME, .seq = -1, .at = n};
    if (n && most[0].seq != other[0].seq) {
        out->kind = PW_CALLORDER_GAP;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!follows(most, i) || !follows(other, i)) {
            out->kind = PW_CALLORDER_GAP;
            return;
        }
        if (is_equal(&most[i], &other[i]))
            continue;
        out->kind = kind_of(most, nmost, other, nother, i);
        out->at = i;
        out->seq = number_of(most, nmost, other, nother, i);
        return;
    }
}

enum pw_callorder_part pw_callorder_part(const struct pw_ordered_call *a,
                                         const struct pw_ordered_call *b)
{
    if (a->op != b->op)
        return PW_PART_OPERATION;
    if (a->root != b->root)
        return PW_PART_ROOT;
    const bool is_same = !((a->signature ^ b->signature) & PW_CALLORDER_REDUCTION_MASK);
    return is_same ? PW_PART_BYTES : PW_PART_REDUCTION;
}

const char *pw_callorder_reduction(uint32_t signature)
{
    static const char *const names[] = {[PW_REDUCTION_NONE] = "",
#define R(name, symbol) [PW_REDUCTION_##name] = "MPI_" #name,
                                        PW_REDUCTIONS(R)
#undef R
    };
    const uint32_t kind = signature & PW_CALLORDER_REDUCTION_MASK;
    if (kind == PW_REDUCTION_USER)
        return "a reduction of the program";
    return kind < PW_REDUCTION_KINDS ? names[kind] : "";
}
