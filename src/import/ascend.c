/* Profiles of MindSpore and of Ascend's devices: whose a trace_view.json is, and the two passes
 * over it. see format.h and ascend.h. */
#include "import/ascend.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/ascend_beside.h"
#include "import/ascend_db.h"
#include "import/ascend_kernels.h"
#include "import/ascend_profile.h"
#include "import/format.h"
#include "import/jsonfile.h"

/* ---- whose it is ---- */

static int is_known(const struct pw_ascend_layers *layers)
{
    for (size_t i = 0; i < layers->nprocesses; i++)
        if (layers->processes[i].layer > PW_LAYER_MARKS ||
            layers->processes[i].layer == PW_LAYER_CPU_OPERATORS ||
            strcmp(layers->processes[i].name, "MindSpore") == 0)
            return 1;
    return 0;
}

static int look(const char *path, struct pw_import_head *out)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char profile[PW_ASCEND_PATH];
    struct pw_ascend_layers layers;
    *out = (struct pw_import_head){.rank = -1, .world_size = -1, .first_ns = INT64_MAX};
    const int in_profile = pw_ascend_profile_of(path, profile, sizeof(profile)) == 0;
    if (pw_ascend_is_db(path)) {
        int db_err = pw_ascend_db_look(path, out);
        if (!db_err && in_profile)
            pw_ascend_profile_read(profile, out);
        return db_err;
    }
    if (in_profile && fnmatch("*.db", name, 0) == 0) {
        snprintf(out->problem, sizeof(out->problem),
                 "is no database: it is empty, or half written");
        return -ENOTSUP;
    }
    if (in_profile && pw_ascend_is_kernels(path)) {
        pw_ascend_profile_read(profile, out);
        return pw_ascend_kernels_look(path, out);
    }
    if (!in_profile && fnmatch("*trace_view*", name, 0) != 0 && fnmatch("msprof*", name, 0) != 0)
        return -EINVAL;
    int err = pw_ascend_layers_read(path, &layers);
    if (err == -EINVAL)
        snprintf(out->problem, sizeof(out->problem), "is no JSON");
    if (!err && !in_profile && !is_known(&layers))
        err = -EINVAL;
    if (!err) {
        out->first_ns = layers.first_ns;
        if (in_profile)
            pw_ascend_profile_read(profile, out);
        for (size_t i = 0; i < layers.nthreads; i++)
            if (layers.threads[i].is_group)
                pw_ascend_add_group(out, layers.threads[i].group);
    }
    pw_ascend_layers_fini(&layers);
    return err;
}

/* ---- its events ---- */

static int take_element(void *context, const char *text, size_t length, int64_t offset)
{
    struct pw_ascend *a = context;
    struct pw_import_counts *counts = &a->trace->counts;
    counts->events++;
    int err = pw_json_parse(a->parser, text, length, &a->object);
    if (err == -ENOMEM)
        return err;
    if (err && counts->first_malformed < 0)
        counts->first_malformed = offset;
    int omitted = err ? PW_OMIT_MALFORMED : pw_ascend_take(a);
    if (omitted)
        pw_trace_omit(a->trace, (enum pw_omission)omitted);
    return 0;
}

/* What the profile has beside the trace, if the trace is in one. */
static int read_beside(const char *path, struct pw_trace_window *window, char *problem, size_t size)
{
    char directory[PW_ASCEND_PATH];
    const char *slash = strrchr(path, '/');
    if (pw_ascend_profile_of(path, directory, sizeof(directory)))
        return 0;
    if ((size_t)snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) : 1,
                         slash ? path : ".") >= sizeof(directory))
        return -ENAMETOOLONG;
    return pw_ascend_beside_read(directory, slash ? slash + 1 : path, window, problem, size);
}

static int read_trace(const char *path, struct pw_trace_window *window,
                      const struct pw_import_progress *progress, char *problem, size_t size)
{
    struct pw_ascend_layers layers;
    if (pw_ascend_is_db(path)) {
        int db_err = pw_ascend_db_read(path, window, problem, size);
        return db_err ? db_err : read_beside(path, window, problem, size);
    }
    if (pw_ascend_is_kernels(path)) {
        int csv_err = pw_ascend_kernels_read(path, window, problem, size);
        window->trace->counts.cut_files += !csv_err && problem[0];
        return csv_err ? csv_err : read_beside(path, window, problem, size);
    }
    struct pw_ascend *a = calloc(1, sizeof(*a));
    int err = a ? pw_ascend_layers_read(path, &layers) : -ENOMEM;
    if (a && !err) {
        *a = (struct pw_ascend){.window = window,
                                .trace = window->trace,
                                .layers = &layers,
                                .parser = pw_json_parser_create()};
        const struct pw_jsonfile_taker taker = {
            .context = a,
            .is_list = pw_jsonfile_is_events,
            .member = pw_jsonfile_ignore_member,
            .element = take_element,
            .progress = progress,
        };
        err = a->parser ? pw_import_read_json(path, window, &taker, problem, size) : -ENOMEM;
        pw_json_parser_destroy(a->parser);
    }
    if (a)
        pw_ascend_layers_fini(&layers);
    free(a);
    return err ? err : read_beside(path, window, problem, size);
}

static const char *const files[] = {"trace_view.json", "trace_view.json.gz",    "msprof_*.json",
                                    "msprof_*.db",     "ascend_*_profiler*.db", NULL};

const struct pw_import_format pw_import_ascend = {
    .name = "ascend",
    .what = "profiles of MindSpore and of Ascend's devices (directories *_ascend_ms, *_ascend_pt)",
    .files = files,
    .look = look,
    .read = read_trace,
};
