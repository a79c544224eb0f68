/* Takes call stacks of the application's threads and gives each an id. The frames are sent to the
 * collector once; later records contain only the id. Called by the in-app halves of modules.
 * In-app code.
 *
 * The unwinder is libgcc's, linked into the probe. It finds its tables by _dl_find_object()
 * (findobject.h), which takes no lock that the thread itself may be taking. libunwind uses
 * dl_iterate_phdr(), which takes a lock of the loader that a thread in dlopen() may hold. Where no
 * object can be looked up at the moment (before glibc 2.35, in a signal handler that interrupts the
 * loader), the stack ends, and is counted in the segment's `cut_stacks`. */
#ifndef PW_RANK_PROBE_STACK_H
#define PW_RANK_PROBE_STACK_H

#include "rank/probe/probe.h"

/* Returns the id of the calling thread's stack: its innermost `depth` (1 .. PW_MAX_STACK) frames
 * outside the probe. 0 when there are none, or the table is full. */
uint32_t pw_stack_take(struct pw_thread *thread, int depth);

/* Omits frames in the code begin .. end when they are innermost, such as a layer between the
 * program and the recorded function. Only a few such ranges can be set. */
void pw_stack_skip(uintptr_t begin, uintptr_t end);

/* Returns the return address in the innermost function outside the probe, or NULL. */
const void *pw_stack_caller(void);

#endif
