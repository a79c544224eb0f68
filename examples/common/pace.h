/* Phases of a set length, as an accelerator's are: on machines whose cores change their speed, or
 * with more ranks than cores, a phase then takes as long on every rank and in every step. */
#ifndef EXAMPLES_PACE_H
#define EXAMPLES_PACE_H

#include <stdint.h>

/* Now, ns of CLOCK_MONOTONIC. */
int64_t pace_now(void);

/* Sleeps until `ns` after `start`, however many signals arrive meanwhile; not at all when that is
 * past. */
void pace_until(int64_t start, int64_t ns);

#endif
