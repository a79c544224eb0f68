/* Clock measurements during the run: between the collectors, over UDP, so that the application and
 * its MPI see nothing of them, and jobs without MPI have them too. Started and polled by the
 * collector (run/run.h). Tool code, with a thread of its own in one collector of each clock domain.
 *
 * The thread of rank 0's domain answers probes, once there is another domain: until then no port is
 * open. The others probe it every few seconds. Each packet carries a code under the job's secret
 * (rendezvous.h), and an answer the random number of its probe. Other packets are dropped without
 * an answer, most of them by the kernel: packets begin with a number that follows from the secret.
 * 1000 of those that pass this filter are checked a second. */
#ifndef PW_RANK_CLOCKS_CLOCKPROBE_H
#define PW_RANK_CLOCKS_CLOCKPROBE_H

#include <stdint.h>

#include "core/tables.h"
#include "rank/clocks/rendezvous.h"
#include "rank/ring/testclock.h"
#include "rank/run/identity.h"

struct pw_clockprobe;

struct pw_clockprobe_cost {
    int64_t cpu_ns;    /* of the thread */
    int64_t exchanges; /* answered probes, on either side */
    int64_t refused;   /* packets looked at that were not the job's, or too late */
};

/* What the packets of a job begin with. */
uint64_t pw_clockprobe_magic(const unsigned char key[PW_KEY_BYTES]);

/* Begins, if this rank is to lead its domain; *out is NULL when it is not. After the program was
 * started: a thread must not be there at a fork. 0 or -errno. */
int pw_clockprobe_start(const char *dir, const struct pw_identity *id,
                        const struct pw_testclock *clock, int64_t interval_ns,
                        struct pw_clockprobe **out);

/* The next knot that was measured since the last call: 1, or 0 when there is none. */
int pw_clockprobe_take(struct pw_clockprobe *probe, struct pw_row_clock *knot);

/* Ends the thread. `probe` may be NULL. */
void pw_clockprobe_stop(struct pw_clockprobe *probe, struct pw_clockprobe_cost *cost);

#endif
