/* Profiles of MindSpore and of Ascend's devices: whose a trace_view.json is, the two passes over
 * it, and the tables of kernels that take its place; see format.h and ascend_events.h. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"
#include "core/readlimit.h"
#include "core/sort.h"
#include "import/ascend/ascend_db.h"
#include "import/ascend/ascend_events.h"
#include "import/ascend/ascend_profile.h"
#include "import/ascend/ascend_sidefiles.h"
#include "import/parsers/csvfile.h"
#include "import/parsers/jsonfile.h"
#include "import/trace/format.h"

/* ---- kernel_details.csv, for a profile that has neither a trace nor a database ----
 *
 * Its columns are those of torch_npu and MindSpore
 * (profiler/analysis), of which are used: Step Id (of MindSpore Step ID), Device_id, Stream ID,
 * Name, Accelerator Core, Start Time(us) and Duration(us). Operations of HCCL are rows, too, whose
 * names have the last three digits of the number of their group: 483 in hcom_allReduce__483_2_1.
 * Before a kernel's name MindSpore writes that of the operator that launched it, and a slash. */

/* The layers, by the numbers of their processes. */
enum { DEVICE = 1, HCCL, LAYERS };

/* What a step's kernels span. */
struct span {
    int64_t step, start, end;
};

struct pass {
    struct pw_ascend *a;
    struct pw_ascend_layers layers;
    struct pw_ascend_process processes[LAYERS - 1];
    struct span *spans;
    size_t nspans, capacity;
};

static int is_kernels(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "kernel_details.csv") == 0;
}

/* ---- operations of HCCL, and their groups ---- */

/* The name of a row: of an operation of HCCL without the operator that launched it. */
static const char *name_of(const struct pw_csv_row *row)
{
    const char *name = pw_csv_cell(row, "Name"), *operation = strstr(name, "/hcom_");
    return operation ? operation + 1 : name;
}

static int is_operation(const struct pw_csv_row *row)
{
    const char *core = pw_csv_cell(row, "Accelerator Core");
    return strcmp(core, "HCCL") == 0 || strcmp(core, "COMMUNICATION") == 0 ||
           strncmp(name_of(row), "hcom_", 5) == 0;
}

/* The digits of its group in an operation's name, as text and as a number; -1: it has none. */
static int64_t group_of(const char *name, char out[24])
{
    const char *at = strstr(name, "__");
    const size_t n = at ? strspn(at + 2, "0123456789") : 0;
    if (!n || n > 18 || at[2 + n] != '_')
        return -1;
    snprintf(out, 24, "%.*s", (int)n, at + 2);
    return strtoll(out, NULL, 10);
}

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strspn(text, "0123456789") == n && strcmp(text + n - m, end) == 0;
}

/* The number of the only group that ends with these digits, else the digits. */
static const char *full_group(const struct pw_group *groups, size_t n, const char *digits)
{
    const char *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (ends_with(groups[i].name, digits)) {
            if (found)
                return digits;
            found = groups[i].name;
        }
    return found ? found : digits;
}

static int take_group(void *context, const struct pw_csv_row *row)
{
    struct pw_import_head *head = context;
    char digits[24];
    if (is_operation(row) && group_of(name_of(row), digits) >= 0)
        pw_import_add_group_name(head, full_group(head->groups, head->ngroups, digits));
    return 0;
}

static int kernels_look(const char *path, struct pw_import_head *out)
{
    return pw_csv_read(path, "Name", take_group, out) == -ENOMEM ? -ENOMEM : 0;
}

/* Returns the number of the thread of a group, which it adds if there is none. -ENOMEM on
 * failure. */
static int64_t thread_of(struct pass *p, const char *name)
{
    char digits[24] = "";
    const int64_t tid = group_of(name, digits) + 1; /* 0: no group is told */
    struct pw_ascend_layers *l = &p->layers;
    const struct pw_trace *trace = p->a->trace;
    size_t at = 0;
    while (at < l->nthreads && l->threads[at].tid < tid)
        at++;
    if (at < l->nthreads && l->threads[at].tid == tid)
        return tid;
    struct pw_ascend_thread *more = realloc(l->threads, (l->nthreads + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    l->threads = more;
    memmove(&more[at + 1], &more[at], (l->nthreads++ - at) * sizeof(*more));
    more[at] = (struct pw_ascend_thread){.pid = HCCL, .tid = tid, .is_group = 1};
    snprintf(more[at].group, sizeof(more[at].group), "%s",
             *digits ? full_group(trace->groups, trace->ngroups, digits) : "");
    return tid;
}

/* ---- steps ---- */

/* A step lasts from its first kernel to that of the next step. */
static int add_to_step(struct pass *p, const char *word)
{
    int64_t step;
    if (pw_decimal_scale(word, strlen(word), 0, &step) || step < 0)
        return 0;
    size_t i = p->nspans;
    while (i && p->spans[i - 1].step != step)
        i--;
    if (i) {
        struct span *span = &p->spans[i - 1];
        span->start = p->a->start < span->start ? p->a->start : span->start;
        span->end = p->a->end > span->end ? p->a->end : span->end;
        return 0;
    }
    if (p->nspans == p->capacity) {
        const size_t capacity = p->capacity ? 2 * p->capacity : 64;
        struct span *more = realloc(p->spans, capacity * sizeof(*more));
        if (!more)
            return -ENOMEM;
        p->spans = more;
        p->capacity = capacity;
    }
    p->spans[p->nspans++] = (struct span){step, p->a->start, p->a->end};
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void write_steps(struct pass *p)
{
    struct pw_trace_window *window = p->a->window;
    pw_sort(p->spans, p->nspans, sizeof(*p->spans), by_start);
    for (size_t i = 0; i < p->nspans; i++) {
        const int64_t end = i + 1 < p->nspans ? p->spans[i + 1].start : p->spans[i].end;
        pw_trace_add_step(window, p->spans[i].step, p->spans[i].start, end);
    }
}

/* ---- rows as events ---- */

static int take_row(void *context, const struct pw_csv_row *row)
{
    struct pass *p = context;
    struct pw_ascend *a = p->a;
    const char *name = name_of(row), *step = pw_csv_cell(row, "Step Id");
    const int is_hccl = is_operation(row);
    const int64_t thread = is_hccl ? thread_of(p, name) : 0;
    int64_t device;
    char pid[8], tid[24];
    if (thread < 0)
        return -ENOMEM;
    const char *device_text = pw_csv_cell(row, "Device_id");
    if (pw_decimal_scale(device_text, strlen(device_text), 0, &device) == 0 && device >= 0 &&
        device < 65536)
        p->processes[0].device = p->processes[1].device = (int32_t)device;
    snprintf(pid, sizeof(pid), "%d", is_hccl ? HCCL : DEVICE);
    snprintf(tid, sizeof(tid), "%lld", (long long)thread);
    a->json.object.n = 0;
    pw_ascend_set_item(&a->json.object, "ph", "X", 0);
    pw_ascend_set_item(&a->json.object, "pid", pid, 0);
    pw_ascend_set_item(&a->json.object, "tid", is_hccl ? tid : pw_csv_cell(row, "Stream ID"), 0);
    pw_ascend_set_item(&a->json.object, "ts", pw_csv_cell(row, "Start Time(us)"), 0);
    pw_ascend_set_item(&a->json.object, "dur", pw_csv_cell(row, "Duration(us)"), 0);
    if (*name)
        pw_ascend_set_item(&a->json.object, "name", name, 0);
    pw_ascend_set_item(&a->json.object, "Task Type", pw_csv_cell(row, "Accelerator Core"), 1);
    a->trace->counts.events++;
    const int omitted = pw_ascend_take(a);
    if (omitted)
        pw_trace_omit(a->trace, (enum pw_omission)omitted);
    return omitted ? 0 : add_to_step(p, *step ? step : pw_csv_cell(row, "Step ID"));
}

static int kernels_read(const char *path, struct pw_trace_window *window, char *problem,
                        size_t size)
{
    struct pw_ascend *a = calloc(1, sizeof(*a));
    struct pass p = {.a = a,
                     .processes = {{.pid = DEVICE, .layer = PW_LAYER_DEVICE, .device = -1},
                                   {.pid = HCCL, .layer = PW_LAYER_HCCL, .device = -1}}};
    if (!a)
        return -ENOMEM;
    p.layers.processes = p.processes;
    p.layers.nprocesses = LAYERS - 1;
    *a = (struct pw_ascend){.window = window, .trace = window->trace, .layers = &p.layers};
    const int64_t before = window->trace->counts.events;
    int err = pw_csv_read(path, "Name", take_row, &p);
    if (err != -ENOMEM && window->trace->counts.events == before)
        snprintf(problem, size, "has no kernel: it is empty, or half written");
    else if (err && err != -ENOMEM)
        snprintf(problem, size, "is not read to its end: %s", pw_csv_error(err));
    err = err == -ENOMEM ? err : 0;
    write_steps(&p);
    free(p.spans);
    free(p.layers.threads);
    free(a);
    return err;
}

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
    if (in_profile && is_kernels(path)) {
        pw_ascend_profile_read(profile, out);
        return kernels_look(path, out);
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
                pw_import_add_group_name(out, layers.threads[i].group);
    }
    pw_ascend_layers_fini(&layers);
    return err;
}

/* ---- its events ---- */

static int take_event(void *context)
{
    return pw_ascend_take(context);
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
    return pw_ascend_sidefiles_read(directory, slash ? slash + 1 : path, window, problem, size);
}

static int read_trace(const char *path, struct pw_trace_window *window,
                      const struct pw_import_progress *progress, char *problem, size_t size)
{
    struct pw_ascend_layers layers;
    if (pw_ascend_is_db(path)) {
        int db_err = pw_ascend_db_read(path, window, problem, size);
        return db_err ? db_err : read_beside(path, window, problem, size);
    }
    if (is_kernels(path)) {
        int csv_err = kernels_read(path, window, problem, size);
        window->trace->counts.cut_files += !csv_err && problem[0];
        return csv_err ? csv_err : read_beside(path, window, problem, size);
    }
    struct pw_ascend *a = calloc(1, sizeof(*a));
    int err = a ? pw_ascend_layers_read(path, &layers) : -ENOMEM;
    if (a && !err) {
        *a = (struct pw_ascend){
            .json.take = take_event, .window = window, .trace = window->trace, .layers = &layers};
        const struct pw_jsonfile_taker taker = {
            .context = a,
            .is_list = pw_jsonfile_is_events,
            .member = pw_jsonfile_ignore_member,
            .element = pw_import_take_element,
            .progress = progress,
        };
        err = pw_import_read_json(path, window, &taker, problem, size);
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
