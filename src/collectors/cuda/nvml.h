/* NVML, the driver's own account of its GPUs, opened at run time. */
#ifndef PW_NVML_H
#define PW_NVML_H

#include <stddef.h>

#include "core/tables.h"

struct pw_nvml;
struct pw_nvml_device; /* NVML's */

/* NULL when the library is not there, or has no driver to talk to. */
struct pw_nvml *pw_nvml_open(void);

/* By "GPU-xxxxxxxx-...". NULL when there is none. */
struct pw_nvml_device *pw_nvml_find(const struct pw_nvml *nvml, const char *uuid);

/* Its place on the PCI bus; "" when that cannot be read. */
void pw_nvml_bus(const struct pw_nvml *nvml, struct pw_nvml_device *device, char *out, size_t size);

/* Fills in all but time and device; -1 where something cannot be read. What is `slow` to read stays
 * as it is unless that is asked for. */
void pw_nvml_read(const struct pw_nvml *nvml, struct pw_nvml_device *device, int slow,
                  struct pw_row_gpu *out);

void pw_nvml_close(struct pw_nvml *nvml);

#endif
