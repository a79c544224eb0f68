/* Measures clock offsets by UDP packets between the collectors. So neither the application nor its
 * MPI is involved, and jobs without MPI are measured too. Started and polled by the collector
 * (run/run.h). Tool code, with a thread of its own in one collector of each clock domain.
 *
 * The thread of rank 0's domain answers probes; it opens its port only when there is another
 * domain. The other domains' threads send it probes as soon as they find it, every few seconds,
 * when the collector asks for it, and at the end of the program. Then the reference may have ended
 * already; it answers for a moment longer than its own program runs. Each packet has a code that
 * is computed with the job's secret (rendezvous.h), and an answer has the random number of its
 * probe. All other packets are dropped without an answer. The kernel drops most of them, because
 * the job's packets begin with a number that is derived from the secret. At most 1000 wrong packets
 * per second pass that filter and are checked. */
#ifndef PW_RANK_CLOCKS_CLOCKPROBE_H
#define PW_RANK_CLOCKS_CLOCKPROBE_H

#include <stdint.h>

#include "core/tables.h"
#include "rank/clocks/rendezvous.h"
#include "rank/ring/testclock.h"
#include "rank/run/identity.h"

struct pw_clockprobe;

struct pw_clockprobe_cost {
    int64_t cpu_ns;    /* CPU time of the thread */
    int64_t exchanges; /* answered probes: received, or sent as the reference */
    int64_t refused;   /* packets that were read, but came from another sender or too late */
};

/* Returns the number with which the packets of a job begin. */
uint64_t pw_clockprobe_magic(const unsigned char key[PW_KEY_BYTES]);

/* Starts the thread if this rank leads its clock domain; otherwise *out is NULL. Call it after the
 * program was started, because a process with threads must not fork. Returns 0 or -errno. */
int pw_clockprobe_start(const char *dir, const struct pw_identity *id,
                        const struct pw_testclock *clock, int64_t interval_ns,
                        struct pw_clockprobe **out);

/* Lets the thread measure now, or look for the other hosts now. To be called at moments at which
 * the other ranks' collectors certainly run. `probe` may be NULL. */
void pw_clockprobe_ask(struct pw_clockprobe *probe);

/* Takes the next measured knot. Returns 1, or 0 when there is no new one. `probe` may be NULL. */
int pw_clockprobe_take(struct pw_clockprobe *probe, struct pw_row_clock *knot);

/* Measures a last time, ends the thread, and removes the link of this domain. Knots can still be
 * taken. `probe` may be NULL. */
void pw_clockprobe_stop(struct pw_clockprobe *probe, struct pw_clockprobe_cost *cost);

void pw_clockprobe_destroy(struct pw_clockprobe *probe);

#endif
