/* Collector note, tool half: what applications say through profwrap.h, as rows of /steps and
 * /events/range. */
#ifndef PW_ANNOTATIONS_TOOL_H
#define PW_ANNOTATIONS_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_annotations;

#endif
