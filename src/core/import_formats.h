/* The formats of `profwrap import`. Add a format here; docs/HOWTO_add_rows.md has the other steps.
 * A row is the word for --format, a remark for --help, and the struct pw_import_format
 * (import/trace/format.h). The formats are tried in this order; kineto is last, because it accepts
 * every list of events. Used by options.def and import/trace/format.c. Nothing but macros; see
 * choices.h. */
#ifndef PW_CORE_IMPORT_FORMATS_H
#define PW_CORE_IMPORT_FORMATS_H

#define PW_IMPORT_FORMATS(FIRST, NEXT)                                  \
    FIRST(inspector, " (NCCL Inspector)", pw_import_inspector)          \
    NEXT(flight, " (Flight Recorder)", pw_import_flight)                \
    NEXT(ascend, " (MindSpore, Ascend)", pw_import_ascend)              \
    NEXT(mindinsight, " (MindSpore before 2.4)", pw_import_mindinsight) \
    NEXT(kineto, " (PyTorch)", pw_import_kineto)

#endif
