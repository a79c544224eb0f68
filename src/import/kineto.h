/* Traces of the PyTorch profiler (Kineto): Chrome trace events in JSON. */
#ifndef PW_IMPORT_KINETO_H
#define PW_IMPORT_KINETO_H

#include "import/formats.h"

extern const struct pw_import_format pw_import_kineto;

#endif
