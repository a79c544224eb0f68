/* Call stacks of the application's threads, interned: a stack's frames reach the collector once,
 * after that only its id does. In-app code.
 *
 * The unwinder is libgcc's, linked into the probe. It finds its tables by _dl_find_object(), which
 * takes no lock; libunwind's dl_iterate_phdr() takes the loader's, which a thread of the
 * application holds for as long as a dlopen() lasts. */
#ifndef PW_RANK_PROBE_STACK_H
#define PW_RANK_PROBE_STACK_H

#include "rank/probe/probe.h"

/* The id of the stack that the caller was called on: its innermost `depth` frames outside the
 * probe, 1 .. PW_MAX_STACK. 0 when there are none, or the table is full. */
uint32_t pw_stack_take(struct pw_thread *thread, int depth);

/* Code at begin .. end is left out of stacks where it is innermost: a layer between the program and
 * the function that is recorded. A few such ranges are kept. */
void pw_stack_skip(uintptr_t begin, uintptr_t end);

/* Where the innermost function outside the probe goes on, or NULL. */
const void *pw_stack_caller(void);

#endif
