/* The offset between two clocks from ping-pongs, with a bound that holds.
 *
 * A client reads t1, the reference reads t_ref, the client reads t2. The reference was read between
 * the two, so its clock minus the client's lies in [t_ref - t2, t_ref - t1]. All exchanges bound
 * the same offset: their intersection is the envelope, its middle the estimate, half its width the
 * error bound (the method of Duda et al., ICDCS 1987, on round trips). */
#ifndef PW_RANK_ENVELOPE_H
#define PW_RANK_ENVELOPE_H

#include <stdint.h>

struct pw_envelope {
    int64_t low_ns, high_ns;
};

static inline struct pw_envelope pw_envelope_start(void)
{
    return (struct pw_envelope){INT64_MIN / 4, INT64_MAX / 4};
}

static inline void pw_envelope_add(struct pw_envelope *e, int64_t t1, int64_t t_ref, int64_t t2)
{
    int64_t low = t_ref - t2, high = t_ref - t1;
    if (low > e->low_ns)
        e->low_ns = low;
    if (high < e->high_ns)
        e->high_ns = high;
}

static inline int64_t pw_envelope_offset(const struct pw_envelope *e)
{
    return e->low_ns + (e->high_ns - e->low_ns) / 2;
}

/* Half the width, rounded up; an empty intersection (a clock that drifted or stepped meanwhile) is
 * as uncertain as it is wide. */
static inline int64_t pw_envelope_error(const struct pw_envelope *e)
{
    int64_t width = e->high_ns - e->low_ns;
    return (width < 0 ? -width : width) / 2 + 1;
}

#endif
