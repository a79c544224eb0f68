/* Finds device activities of a trace whose times cannot be: that begin before the call that
 * launched them, that are outside the trace, or that last beyond the end of the next one on their
 * stream, though a stream does one after the other. Profilers write such times when a counter of
 * the device was read wrongly. rankwrite.c calls this once for each window of Kineto's, and leaves
 * them out. It changes no record. */
#ifndef PW_IMPORT_DEVICECHECK_H
#define PW_IMPORT_DEVICECHECK_H

#include "import/trace/sorter.h"
#include "import/trace/trace.h"

/* Which device records are left out: a bit for each, in the order of the sorter. */
struct pw_device_check {
    uint8_t *bits;
    int64_t start_ns, end_ns; /* of the others; INT64_MAX, INT64_MIN: there are none */
};

/* Reads all of `placed` (struct pw_device_record, joined with their launches and sorted by start),
 * and counts what it finds by kind in the trace's counts. Returns 0 or -errno. */
int pw_device_check(const struct pw_trace_window *window, struct pw_sorter *placed,
                    struct pw_device_check *out);

static inline int pw_device_is_left_out(const struct pw_device_check *check, int64_t number)
{
    return check->bits && (check->bits[number / 8] >> (number % 8) & 1);
}

void pw_device_check_fini(struct pw_device_check *check);

#endif
