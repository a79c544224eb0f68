/* What a format has to do: tell whose trace a file is, and give its events to the window that it is
 * read into. The list of formats is core/import_formats.h; a new format is a .c file, a declaration
 * here and a row in that list. plan.c asks the formats which of them a file is of, import.c reads
 * with them, and cmd_import.c lists them. A format gives records by trace.h only; it does not write
 * rows of events to the rank's file. */
#ifndef PW_IMPORT_FORMAT_H
#define PW_IMPORT_FORMAT_H

#include "import/jsonfile.h"
#include "import/trace.h"

/* What a file says before its events: which rank of which job. */
struct pw_import_head {
    int64_t rank, world_size; /* -1: it does not say */
    char backend[32], hostname[64];
    char job[32];     /* the same in all files of one job; "" */
    int64_t first_ns; /* time of its first event; INT64_MAX: it has none */
    struct pw_group *groups;
    size_t ngroups;
    int has_unnamed_groups; /* 1: of groups other than all ranks', the ranks are not known */
    char problem[160];      /* what is wrong with it, when reading fails */
};

void pw_import_head_fini(struct pw_import_head *head);

struct pw_import_format {
    const char *name, *what;  /* for --format and --help */
    const char *const *files; /* patterns of names that are taken from directories; NULL ends */
    /* Whether the file is of this format, and what its head says. 0; -EINVAL: it is not; -ENOTSUP:
     * it is, but out->problem says why it cannot be read; -errno. */
    int (*look)(const char *path, struct pw_import_head *out);
    /* Reads the events into `window`. 0, also for files that end early, or -errno. `progress` gets
     * the number of bytes of the file that were read so far. */
    int (*read)(const char *path, struct pw_trace_window *window,
                const struct pw_import_progress *progress, char *problem, size_t size);
};

/* Traces of the PyTorch profiler (Kineto): Chrome trace events in JSON. */
extern const struct pw_import_format pw_import_kineto;

/* Dumps of PyTorch's Flight Recorder: the last operations of torch.distributed, in JSON. */
extern const struct pw_import_format pw_import_flight;

/* Logs of NCCL Inspector, the profiler plugin that comes with NCCL: an object a line for each
 * operation. */
extern const struct pw_import_format pw_import_inspector;

/* What all formats in JSON do to read: the counts of bytes, and the remark on a file that ends
 * early. 0 or -errno. */
int pw_import_read_json(const char *path, struct pw_trace_window *window,
                        const struct pw_jsonfile_taker *taker, char *problem, size_t size);

/* Whether a file of this name is taken from a directory. */
int pw_import_is_file(const char *name);

/* The format of this name, or NULL; `number` counts them from 0. */
const struct pw_import_format *pw_import_format_find(const char *name);
const struct pw_import_format *pw_import_format_borrow(size_t number);

#endif
