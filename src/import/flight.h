/* Dumps of PyTorch's Flight Recorder: the last operations of torch.distributed, in JSON. */
#ifndef PW_IMPORT_FLIGHT_H
#define PW_IMPORT_FLIGHT_H

#include "import/formats.h"

extern const struct pw_import_format pw_import_flight;

#endif
