/* What `profwrap ctl snapshot` does with a journal, for the targets that look at one. */
#ifndef PW_FUZZ_LOOK_H
#define PW_FUZZ_LOOK_H

#include <stdint.h>

/* Once, before anything else; 0. */
int look_open(void);

/* Makes a rank file of the journal, up to before a step (-1: all of it). It must be one that can be
 * read; where there is none, nothing may be left. Aborts. */
void look(const char *journal, int64_t cut_step);

#endif
