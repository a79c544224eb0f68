/* Logs of NCCL Inspector, the profiler plugin that comes with NCCL: an object a line for each
 * operation. */
#ifndef PW_IMPORT_INSPECTOR_H
#define PW_IMPORT_INSPECTOR_H

#include "import/formats.h"

extern const struct pw_import_format pw_import_inspector;

#endif
