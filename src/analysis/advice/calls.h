/* Names of the calls that a program may make: texts have those of profwrap.h, and a Python program
 * is told those of the Python module. Called by the table of advice and by the text report. No I/O,
 * no allocation. */
#ifndef PW_ANALYSIS_ADVICE_CALLS_H
#define PW_ANALYSIS_ADVICE_CALLS_H

#include "core/cluster.h"

/* True when the command of the job runs Python: an interpreter, or a file *.py. */
int pw_calls_is_python(const struct pw_cluster *cluster);

/* Replaces the names in `text` if the job's program is Python. The names of the Python module are
 * shorter, so the text never grows. */
void pw_calls_name(const struct pw_cluster *cluster, char *text);

#endif
