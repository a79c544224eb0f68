/* Computes the offset between two clocks, and an error bound, from ping-pong messages. Called by
 * the synchronisation over MPI (in-app, mpi_special.c) and by that of the collectors
 * (clockprobe.c). Pure functions.
 *
 * A client reads t1, the reference reads t_ref, the client reads t2. The reference was read between
 * the two, so its clock minus the client's is in [t_ref - t2, t_ref - t1]. All exchanges bound the
 * same offset: their intersection is the envelope, its middle the estimate, half its width the
 * error bound (the method of Duda et al., ICDCS 1987, on round trips).
 *
 * Exchanges take time in which the clocks drift. The estimate is the offset at one moment, the
 * middle of the fastest exchange; the bound of an exchange at another moment is widened by the
 * drift until then. */
#ifndef PW_RANK_CLOCKS_ENVELOPE_H
#define PW_RANK_CLOCKS_ENVELOPE_H

#include <stdint.h>

enum { PW_ENVELOPE_EXCHANGES = 128 };

struct pw_envelope {
    int n;
    struct {
        int64_t t1, t_ref, t2;
    } exchanges[PW_ENVELOPE_EXCHANGES];
};

/* The reference's clock minus the client's at the client's time `local_ns`. */
struct pw_knot {
    int64_t local_ns, offset_ns, error_ns;
};

/* Adds an exchange. Ignores it when t2 is before t1, or when there are PW_ENVELOPE_EXCHANGES
 * already. */
static inline void pw_envelope_add(struct pw_envelope *e, int64_t t1, int64_t t_ref, int64_t t2)
{
    if (e->n == PW_ENVELOPE_EXCHANGES || t2 < t1)
        return;
    e->exchanges[e->n].t1 = t1;
    e->exchanges[e->n].t_ref = t_ref;
    e->exchanges[e->n++].t2 = t2;
}

/* Whether enough exchanges are about as fast as the fastest one, so that more would hardly improve
 * the bound. When other processes use the cores, most exchanges are slow, and more of them are
 * needed until enough are fast. */
int pw_envelope_is_settled(const struct pw_envelope *envelope);

/* Computes the knot. When exchanges contradict each other, because a clock was stepped, the error
 * covers both. Returns 0, or -1 when there was no exchange. */
int pw_envelope_knot(const struct pw_envelope *envelope, struct pw_knot *out);

#endif
