/* Call stacks of running ranks as text: equal stacks once, with the ranks that have them. Called by
 * liveview.c alone. */
#ifndef PW_REPORT_LIVE_STACKVIEW_H
#define PW_REPORT_LIVE_STACKVIEW_H

#include "report/live/livewords.h"
#include "report/writing/page.h"

/* 1 when a rank has stacks, or says why it has none. */
int pw_stackview_has(const struct pw_live_view *view);

/* Returns 0 or -ENOMEM. */
int pw_stackview_print(const struct pw_live_view *view, const struct pw_page *page);

/* The stack of the thread, if it is known where it is in Python; else NULL. */
const struct pw_live_stack *pw_stackview_python(const struct pw_live *rank,
                                                const struct pw_live_thread *thread);

#endif
