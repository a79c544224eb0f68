/* When and in which steps each fault of a played run held ranks up, for truth.json. */
#ifndef PW_SIM_EFFECTS_H
#define PW_SIM_EFFECTS_H

#include "sim/params.h"

struct pw_sim_effect {
    int64_t start_ns, end_ns; /* of the first and the last that it did; start_ns < 0: nothing */
    int64_t held_ns;          /* sum over its ranks: what it took or added */
    uint8_t *steps;           /* [steps] 1: in this one */
};

/* `out` has room for all faults; the caller frees it by pw_sim_effects_free(). 0 or -ENOMEM. */
int pw_sim_effects_play(const struct pw_sim_params *params, struct pw_sim_effect *out);
void pw_sim_effects_free(const struct pw_sim_params *params, struct pw_sim_effect *effects);

#endif
