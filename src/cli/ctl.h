/* What `profwrap ctl` does beside its status, a command per file. */
#ifndef PW_CLI_CTL_H
#define PW_CLI_CTL_H

#include "core/options.h"

/* `ctl metrics`: once on standard output, or to who asks for it until the job ends. */
int pw_ctl_metrics(const char *dir, const struct pw_options *options);

/* `ctl snapshot`. `to` is "" for a new directory in `dir`. */
int pw_ctl_snapshot(const char *dir, const char *to);

#endif
