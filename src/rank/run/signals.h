/* What guard, collector and program do with signals; the rest of it is in launch.h. */
#ifndef PW_RANK_RUN_SIGNALS_H
#define PW_RANK_RUN_SIGNALS_H

#include "rank/run/launch.h"

/* In the program's process, before it executes: as its launcher wanted them. What came before it
 * was there now ends it. */
void pw_launch_restore_signals(struct pw_lifeline *lifeline);

/* Stops this process by `signal`, whatever it is handled by, until it is continued. */
void pw_launch_stop_self(int signal);

#endif
