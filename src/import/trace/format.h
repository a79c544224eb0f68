/* The interface of a file format that can be imported: `look` tells the rank and job of a file,
 * `read` adds its events to a window (trace.h). A new format needs a .c file, a declaration here
 * and a row in core/choices.h. planner.c calls `look` to find the format of a file, import.c
 * calls `read`, and cmd_import.c lists the formats. A format adds records through trace.h; it must
 * not write rows of events to the rank's file itself. */
#ifndef PW_IMPORT_FORMAT_H
#define PW_IMPORT_FORMAT_H

#include "import/parsers/jsonfile.h"
#include "import/parsers/jsonobject.h"
#include "import/trace/trace.h"

/* A group that the file has collectives of. */
struct pw_used_group {
    char name[64];
    int has_ended; /* 1: one of them ended that no member leaves before all have begun it */
    int has_open;  /* 1: one of them had not ended */
};

/* A file's rank and job, as the file says them, mostly before its events. */
struct pw_import_head {
    int64_t rank, world_size; /* -1: the file does not say */
    int64_t least_size;       /* the job has at least as many ranks; 0: the file does not say */
    char backend[32], hostname[64];
    char job[32];     /* an id that all files of one job have; "": none */
    int64_t first_ns; /* time of the first event; INT64_MAX: no events */
    int64_t pid;      /* of the process; 0: the file does not say */
    char maker[96];   /* the versions that wrote the file; "": the file does not say */
    struct pw_group *groups;
    size_t ngroups;
    int has_unnamed_groups; /* 1: the ranks of some groups are listed without the group's name */
    struct pw_used_group *used;
    size_t nused;
    int has_lost; /* 1: the file has not all operations from the start of the program on */
    /* 1: `look` failed on a whole file, which is something else: not a damaged one. Formats may
     * stop early at what is not theirs; the last one that was asked tells. */
    int is_other;
    const char
        *tool; /* what a file of another tool is, such as "a trace of VizTracer"; else NULL */
    struct pw_jsonfile_text text; /* of the file, if it is small and has been read */
    char problem[320]; /* why the file cannot be read, when `look` fails; else a remark, or "" */
};

void pw_import_head_fini(struct pw_import_head *head);

/* Adds a group with the ranks of a JSON array (jansson), or without ranks when `ranks` is NULL.
 * Returns the group, or NULL when a rank is no number from 0 to 2^24 - 1, or memory is short. */
struct json_t;
struct pw_group *pw_import_add_group(struct pw_import_head *head, const char *name,
                                     const struct json_t *ranks);

/* Adds a group of which the file does not tell the ranks, if it is not there: plan.c finds them. */
void pw_import_add_group_name(struct pw_import_head *head, const char *name);

struct pw_import_format {
    const char *name, *what;  /* the value of --format, and its description for --help */
    const char *const *files; /* name patterns for files in directories; ends with NULL */
    /* Reads a file's head. Returns 0; -EINVAL when the file is not of this format; -ENOTSUP when it
     * is, but cannot be read (out->problem says why); or another -errno. */
    int (*look)(const char *path, struct pw_import_head *out);
    /* Adds the file's events to `window`. Returns 0 or -errno; a file that ends early gives 0 and a
     * remark in `problem`. `progress` is told the number of bytes read so far. */
    int (*read)(const char *path, struct pw_trace_window *window,
                const struct pw_import_progress *progress, char *problem, size_t size);
};

/* Traces of the PyTorch profiler (Kineto): Chrome trace events in JSON. */
extern const struct pw_import_format pw_import_kineto;

/* Dumps of PyTorch's Flight Recorder: the last operations of torch.distributed, in JSON. */
extern const struct pw_import_format pw_import_flight;

/* Whether the file is a Python pickle, which PyTorch writes by default in place of JSON. */
int pw_flight_is_pickle(const char *path);

/* Logs of NCCL Inspector, the profiler plugin that comes with NCCL: one line with a JSON object for
 * each operation. */
extern const struct pw_import_format pw_import_inspector;

/* Profiles of MindSpore and of Ascend's devices: directories, one file of which has the events. */
extern const struct pw_import_format pw_import_ascend;

/* Directories that MindSpore's profiler made for MindInsight. */
extern const struct pw_import_format pw_import_mindinsight;

/* What msprof-analyze computed from profiles, without them: for directories only. */
extern const struct pw_import_format pw_import_msprof;

/* The event of a JSON file that a format takes: the first member of the struct that it passes as
 * the taker's context. */
struct pw_import_event {
    struct pw_json_object object;
    int (*take)(void *context); /* takes `object`: 0, or the enum pw_omission to count */
    struct pw_trace *trace;     /* this and the parser are set by pw_import_read_json() */
    struct pw_json_parser *parser;
};

/* The `element` of a taker: counts and parses the event, and calls its `take` unless it is
 * malformed. */
int pw_import_take_element(void *context, const char *text, size_t length, int64_t offset);

/* Reads a JSON file for a format: calls pw_jsonfile_read, counts the bytes, and puts a remark into
 * `problem` when the file ends early. The taker's context begins with a struct pw_import_event.
 * Returns 0 or -errno. */
int pw_import_read_json(const char *path, struct pw_trace_window *window,
                        const struct pw_jsonfile_taker *taker, char *problem, size_t size);

/* Whether a file with this name in a directory is to be imported. */
int pw_import_is_file(const char *name);

/* Return the format with this name, and format `number` counted from 0; NULL when it does not
 * exist. */
const struct pw_import_format *pw_import_format_find(const char *name);
const struct pw_import_format *pw_import_format_borrow(size_t number);

#endif
