/* The work of `profwrap ctl snapshot` on a journal, for the targets that test it. */
#ifndef PW_FUZZ_LOOK_H
#define PW_FUZZ_LOOK_H

#include <stdint.h>

/* Once, before anything else; 0. */
int look_open(void);

/* Makes a rank file of the journal, up to before a step (-1: all of it). The file must be valid. If
 * there is none, nothing may be left over. Aborts otherwise. */
void look(const char *journal, int64_t cut_step);

#endif
