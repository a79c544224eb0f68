/* Which rank of a running job is slow now: puts the last steps of all ranks beside each other,
 * judges each step by analysis/alarm.h, and keeps the alarms. Called by `report --watch` with the
 * answers of the collectors, about once a second. Asks no rank itself. */
#ifndef PW_REPORT_LIVE_LIVEALARM_H
#define PW_REPORT_LIVE_LIVEALARM_H

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "core/live.h"

struct pw_livealarm {
    int32_t rank;
    char hostname[PW_LIVE_NAME];
    time_t begun, ended; /* of day; ended 0: not yet */
    int64_t first, last; /* steps: since the onset, up to now or its end */
    double excess_ns;    /* mean, of a step */
    double step_ns;      /* mean length of a step */
    double cost_ns;      /* of the job, so far */
    int phase;       /* enum pw_phase; PW_PHASE_NONE: outside any phase, or no phases are known */
    int has_phases;  /* 1: the rank marks phases */
    int cause;       /* enum pw_cause */
    int cause_known; /* 1: phase and cause are not looked for any more */
    int looks;       /* how often they were */
    int told;        /* by pw_livealarms_tell(): 1: that it has begun, 2: that it has ended */
    int is_uncalibrated;
};

struct pw_livealarms;

/* `per_day`: false alarms of the whole job, above 0. Returns NULL when memory is short. */
struct pw_livealarms *pw_livealarms_create(double per_day);
void pw_livealarms_destroy(struct pw_livealarms *alarms);

/* The step after which the next request should ask for steps. */
int64_t pw_livealarms_after(const struct pw_livealarms *alarms);

/* Takes the answers of the ranks, sorted by rank. Returns the number of alarms that began or ended,
 * or -ENOMEM. */
int pw_livealarms_take(struct pw_livealarms *alarms, const struct pw_live *ranks, size_t n,
                       time_t now);

/* The alarms, the oldest first; old ones that have ended are forgotten. */
const struct pw_livealarm *pw_livealarms_borrow(const struct pw_livealarms *alarms, size_t *n);

/* The next alarm of which there is something to tell: that it lasts, once its phase and cause are
 * known or it is some seconds old; or that it has ended. It counts as told then. NULL: none. */
const struct pw_livealarm *pw_livealarms_tell(struct pw_livealarms *alarms, time_t now);

/* Whether the rank is in an alarm now. */
int pw_livealarms_is_slow(const struct pw_livealarms *alarms, int32_t rank);

/* What the absence of an alarm means. */
struct pw_livealarms_state {
    double per_day;
    size_t nslow;        /* ranks in an alarm */
    int64_t tested;      /* steps; 0: none */
    double share, delay; /* a rank with so much more work would have been seen after so many steps;
                            -1: not yet */
    int64_t idle_s;      /* time since the last step; 0: less than three steps */
    int is_idle;         /* 1: so long that nothing is known of the ranks now */
    int is_silent;       /* 1: no communication is recorded, so steps cannot be compared */
    int is_uncalibrated;
    int64_t measured; /* steps that were only measured, because the test begins with these */
};
struct pw_livealarms_state pw_livealarms_state(const struct pw_livealarms *alarms, time_t now);

/* Writes "rank 77 on node17 is slow in backward since step 3120". Returns `out`. */
const char *pw_livealarm_text(const struct pw_livealarm *alarm, char *out, size_t size);

/* Writes "11.8 ms more than the others in a step of 80 ms; cost so far 41 s; cause: file I/O".
 * Returns `out`. */
const char *pw_livealarm_figures(const struct pw_livealarm *alarm, char *out, size_t size);

/* The alarm as an object; `line` is what a person is told. NULL when memory is short. */
json_t *pw_livealarm_json(const struct pw_livealarm *alarm, const char *line);

/* Writes what is known while nothing is printed of alarms: "none in 1200 steps; ...". */
const char *pw_livealarms_state_text(const struct pw_livealarms_state *state, char *out,
                                     size_t size);

#endif
