/* Makes rank files from the journals that killed collectors left. */
#ifndef PW_RANK_COLLECT_RECOVER_H
#define PW_RANK_COLLECT_RECOVER_H

#include "rank/collect/collector.h"

/* Makes DIR/rank-NNNNN.h5 from the rank's journal and, where they are still there, its rings; then
 * removes both. Done twice it is as if done once; a file that is complete is never touched.
 * `collectors`: the table that the journal was written with.
 *
 * 0; -ENOENT when there is no journal; -EBUSY when the rank is still being recorded; -EBADMSG when
 * the journal's begin is damaged or another version wrote it; -ESRCH when it is another rank's;
 * -EEXIST when the rank has a file that is not complete, beside its journal; else what kept the
 * file from being written: the journal then stays. */
int pw_recover_rank(const char *dir, int rank, const struct pw_collector *collectors);

/* Whether the rank's journal was written on the machine of this clock domain: only there are its
 * rings. A journal that cannot be read is nobody's. */
int pw_recover_is_of(const char *dir, int rank, uint64_t clock_domain);

#endif
