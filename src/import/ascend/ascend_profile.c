/* Finds profile directories by their names and parts, and reads their small JSON files; see
 * ascend_profile.h. */
#include "import/ascend/ascend_profile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/safefile.h"
#include "core/sort.h"
#include "import/ascend/ascend_db.h"

static const char output[] = "ASCEND_PROFILER_OUTPUT";

/* ---- where they are ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static int join(char *out, size_t size, const char *dir, const char *name)
{
    int n = snprintf(out, size, "%s/%s", dir, name);
    return n > 0 && (size_t)n < size;
}

static int is_directory(const char *dir, const char *name)
{
    char path[PW_ASCEND_PATH];
    struct stat status;
    return join(path, sizeof(path), dir, name) && stat(path, &status) == 0 &&
           S_ISDIR(status.st_mode);
}

static int is_profile(const char *path)
{
    return ends_with(path, "_ascend_ms") || ends_with(path, "_ascend_pt") ||
           is_directory(path, output);
}

/* Adds a copy of the path. 0 or -ENOMEM. */
static int ascend_found_add(struct pw_ascend_found *found, const char *path)
{
    if (found->n == found->capacity) {
        size_t capacity = found->capacity ? 2 * found->capacity : 16;
        char **more = realloc(found->paths, capacity * sizeof(*more));
        if (!more)
            return -ENOMEM;
        found->paths = more;
        found->capacity = capacity;
    }
    found->paths[found->n] = strdup(path);
    return found->paths[found->n++] ? 0 : -ENOMEM;
}

static int find_below(const char *path, int depth, struct pw_ascend_found *out)
{
    char below[PW_ASCEND_PATH];
    struct dirent **entries;
    int err = 0;
    if (is_profile(path))
        return ascend_found_add(out, path);
    int n = depth > 0 ? scandir(path, &entries, NULL, alphasort) : 0;
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (!err && name[0] != '.' && is_directory(path, name) &&
            join(below, sizeof(below), path, name))
            err = find_below(below, depth - 1, out);
        free(entries[i]);
    }
    if (n > 0)
        free(entries);
    return err == -EACCES ? 0 : err;
}

int pw_ascend_find(const char *path, struct pw_ascend_found *out)
{
    enum { DEEPEST = 4 };
    char dir[PW_ASCEND_PATH];
    *out = (struct pw_ascend_found){0};
    if ((size_t)snprintf(dir, sizeof(dir), "%s", path) >= sizeof(dir))
        return -ENAMETOOLONG;
    for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
        dir[n - 1] = '\0';
    if (strcmp(base_name(dir), output) == 0 && base_name(dir) > dir + 1) {
        dir[base_name(dir) - 1 - dir] = '\0';
        return ascend_found_add(out, dir);
    }
    return find_below(dir, DEEPEST, out);
}

void pw_ascend_found_fini(struct pw_ascend_found *found)
{
    for (size_t i = 0; i < found->n; i++)
        free(found->paths[i]);
    free(found->paths);
    *found = (struct pw_ascend_found){0};
}

/* ---- the file with their events ---- */

/* What a file is that should have the events of a profile. */
enum condition { MISSING, EMPTY, STRANGE, TORN, WHOLE };

static const char *const condition_words[] = {
    [MISSING] = "is not there", [EMPTY] = "is empty", [STRANGE] = "is no JSON",
    [TORN] = "is half written", [WHOLE] = "is whole",
};

/* The first byte that is no white space of a block; with `step` -1 the last one. */
static char edge(const char *text, size_t n, int step)
{
    for (size_t i = 0; i < n; i++) {
        const char c = text[step > 0 ? i : n - 1 - i];
        if (!isspace((unsigned char)c))
            return c;
    }
    return 0;
}

/* A list or an object of JSON ends as it begins, unless its end is missing. */
static enum condition condition_of_trace(const char *path)
{
    char first[512], last[512];
    FILE *in = pw_fopen_regular(path);
    if (!in)
        return MISSING;
    const size_t n = fread(first, 1, sizeof(first), in);
    size_t m = fseek(in, -(long)sizeof(last), SEEK_END) ? 0 : fread(last, 1, sizeof(last), in);
    fclose(in);
    if (!m)
        memcpy(last, first, m = n);
    const char begin = edge(first, n, 1), end = edge(last, m, -1);
    if (begin != '[' && begin != '{')
        return begin ? STRANGE : EMPTY;
    return end == (begin == '[' ? ']' : '}') ? WHOLE : TORN;
}

/* The database of a profile: one that is whole, if there is one. */
static enum condition find_db(const char *dir, char *out, size_t size)
{
    char path[PW_ASCEND_PATH];
    struct stat status;
    enum condition best = MISSING;
    DIR *stream = opendir(dir);
    if (!stream)
        return MISSING;
    for (struct dirent *entry; best != WHOLE && (entry = readdir(stream));) {
        if (fnmatch("ascend_*_profiler*.db", entry->d_name, 0) != 0 ||
            !join(path, sizeof(path), dir, entry->d_name))
            continue;
        const enum condition found = stat(path, &status) || !status.st_size ? EMPTY
                                     : pw_ascend_db_is_whole(path)          ? WHOLE
                                                                            : TORN;
        if (found > best && (size_t)snprintf(out, size, "%s", path) < size)
            best = found;
    }
    closedir(stream);
    return best;
}

/* The table of kernels of a profile that has neither a trace nor a database. */
static enum condition find_kernels(const char *dir, char *out, size_t size)
{
    struct stat status;
    if (!join(out, size, dir, "kernel_details.csv") || stat(out, &status))
        return MISSING;
    return S_ISREG(status.st_mode) && status.st_size > 0 ? WHOLE : EMPTY;
}

/* The files that may have the events of a profile, those first that have most. */
enum source { TRACE, DATABASE, KERNELS, SOURCES };

struct sources {
    char paths[SOURCES][PW_ASCEND_PATH];
    enum condition conditions[SOURCES];
};

static int find_sources(const char *profile, struct sources *out)
{
    char dir[PW_ASCEND_PATH];
    struct stat status;
    *out = (struct sources){0};
    if (!join(dir, sizeof(dir), profile, output) || stat(dir, &status) || !S_ISDIR(status.st_mode))
        return -ENOENT;
    if (join(out->paths[TRACE], PW_ASCEND_PATH, dir, "trace_view.json"))
        out->conditions[TRACE] = condition_of_trace(out->paths[TRACE]);
    out->conditions[DATABASE] = find_db(dir, out->paths[DATABASE], PW_ASCEND_PATH);
    out->conditions[KERNELS] = find_kernels(dir, out->paths[KERNELS], PW_ASCEND_PATH);
    return 0;
}

/* Says which of trace and database is read, if the other one is damaged. */
static void say_instead(const struct sources *s, enum source taken, char *remark, size_t size)
{
    const enum source other = taken == TRACE ? DATABASE : TRACE;
    remark[0] = '\0';
    if (s->conditions[taken] == WHOLE && taken != KERNELS && s->conditions[other] != WHOLE &&
        s->conditions[other] != MISSING)
        snprintf(remark, size, "its %s %s: its %s is read instead", base_name(s->paths[other]),
                 condition_words[s->conditions[other]], base_name(s->paths[taken]));
}

/* What is whole; else what there is, up to where it ends, or to be named as damaged. */
static enum source choose(const struct sources *s)
{
    if (s->conditions[TRACE] == WHOLE)
        return TRACE;
    if (s->conditions[DATABASE] == WHOLE &&
        (pw_ascend_db_can_be_read() || s->conditions[TRACE] < TORN))
        return DATABASE;
    if (s->conditions[TRACE] >= STRANGE)
        return TRACE;
    if (s->conditions[TRACE] == EMPTY)
        return SOURCES;
    if (s->conditions[DATABASE] != MISSING)
        return DATABASE;
    return s->conditions[KERNELS] == WHOLE ? KERNELS : SOURCES;
}

static const char *why_none(const struct sources *s)
{
    return s->conditions[TRACE] == EMPTY ? "has an empty trace_view.json: it is half written"
           : s->conditions[KERNELS] == EMPTY
               ? "has an empty kernel_details.csv, and no trace_view.json: it is half written"
               : "has no trace_view.json, no database and no kernel_details.csv in its "
                 "ASCEND_PROFILER_OUTPUT: nothing else tells when anything was";
}

int pw_ascend_main_file(const char *profile, char *out, size_t size, char *remark,
                        size_t remark_size)
{
    struct sources *s = malloc(sizeof(*s));
    int err = s ? find_sources(profile, s) : -ENOMEM;
    snprintf(remark, remark_size,
             "has no ASCEND_PROFILER_OUTPUT: the profiler has not analysed it, or was killed; "
             "mindspore.profiler.profiler.analyse(DIR) or torch_npu.profiler.profiler.analyse(DIR) "
             "does that");
    if (!err) {
        const enum source taken = choose(s);
        err = taken == SOURCES ? -ENOENT : 0;
        if (err)
            snprintf(remark, remark_size, "%s", why_none(s));
        else
            say_instead(s, taken, remark, remark_size);
        if (!err && (size_t)snprintf(out, size, "%s", s->paths[taken]) >= size)
            err = -ENAMETOOLONG;
    }
    free(s);
    return err;
}

int pw_ascend_other_file(const char *profile, const char *damaged, char *out, size_t size)
{
    struct sources *s = malloc(sizeof(*s));
    int err = s ? find_sources(profile, s) : -ENOMEM;
    if (!err) {
        const enum source other = strcmp(s->paths[TRACE], damaged) == 0 ? DATABASE : TRACE;
        const char *path = s->paths[other];
        err = s->conditions[other] < TORN || strcmp(s->paths[KERNELS], damaged) == 0 ? -ENOENT
              : (size_t)snprintf(out, size, "%s", path) >= size                      ? -ENAMETOOLONG
                                                                                     : 0;
    }
    free(s);
    return err;
}

int pw_ascend_profile_of(const char *path, char *out, size_t size)
{
    char full[PATH_MAX];
    if (!realpath(path, full))
        return -ENOENT;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(full, '/');
        if (!slash || slash == full)
            return -ENOENT;
        *slash = '\0';
        if (i == 0 && strcmp(base_name(full), output) != 0)
            return -ENOENT;
    }
    return (size_t)snprintf(out, size, "%s", full) < size ? 0 : -ENOENT;
}

/* ---- whose they are ---- */

/* The number that stands for a group's name in events. */
static void group_number(const char *name, char *out, size_t size)
{
    /* CANN's: a polynomial in 29 and one in 131, each of 32 bits. */
    uint32_t high = 0, low = 0;
    for (const char *at = name; *at; at++) {
        high = high * 29 + (unsigned char)*at;
        low = low * 131 + (unsigned char)*at;
    }
    snprintf(out, size, "%llu", (unsigned long long)((uint64_t)high << 32 | low));
}

/* The number N of "profiler_info_N.json", -1: it is no such. */
static int64_t number_in(const char *name, const char *begin, const char *end)
{
    size_t n = strlen(begin);
    char *behind;
    if (strncmp(name, begin, n) != 0 || !isdigit((unsigned char)name[n]))
        return -1;
    errno = 0;
    long long number = strtoll(name + n, &behind, 10);
    return !errno && number < 1 << 24 && strcmp(behind, end) == 0 ? number : -1;
}

static int64_t find_number(const char *dir, const char *begin, const char *end)
{
    DIR *stream = opendir(dir);
    int64_t found = -1;
    if (!stream)
        return -1;
    for (struct dirent *entry; (entry = readdir(stream));) {
        int64_t number = number_in(entry->d_name, begin, end);
        found = number > found ? number : found;
    }
    closedir(stream);
    return found;
}

static json_t *load(const char *dir, const char *name)
{
    enum { MOST_BYTES = 64 << 20 };
    char path[PW_ASCEND_PATH];
    struct stat status;
    if (!join(path, sizeof(path), dir, name) || stat(path, &status) || !S_ISREG(status.st_mode) ||
        status.st_size > MOST_BYTES)
        return NULL;
    return json_load_file(path, 0, NULL);
}

/* Loads a file of the profile, and says what is not known if it is there and is damaged. */
static json_t *load_or_say(const char *profile, const char *name, const char *unknown,
                           struct pw_import_head *head)
{
    char path[PW_ASCEND_PATH];
    json_t *out = load(profile, name);
    if (!out && join(path, sizeof(path), profile, name) && access(path, F_OK) == 0)
        snprintf(head->problem, sizeof(head->problem),
                 "the profile's %s is no JSON, or half written: %s", name, unknown);
    return out;
}

/* HOST_PROCESS_TIME_ascend_ms; other names are the user's own. */
static void read_name(const char *profile, struct pw_import_head *head)
{
    char name[256];
    char *at = NULL;
    snprintf(name, sizeof(name), "%s", base_name(profile));
    if (!ends_with(name, "_ascend_ms") && !ends_with(name, "_ascend_pt"))
        return;
    snprintf(head->backend, sizeof(head->backend), "%s",
             ends_with(name, "_ms") ? "MindSpore" : "PyTorch on Ascend");
    name[strlen(name) - strlen("_ascend_ms")] = '\0';
    for (int part = 0; part < 2; part++) {
        at = strrchr(name, '_');
        if (!at || at == name || !at[1] || strspn(at + 1, "0123456789") != strlen(at + 1))
            return;
        if (part == 0)
            *at = '\0';
    }
    head->pid = strtoll(at + 1, NULL, 10);
    *at = '\0';
    snprintf(head->hostname, sizeof(head->hostname), "%.63s", name);
}

/* "parallel_group_info": the names of HCCL's groups, of which that of all ranks is a job's own. */
static void read_groups(const json_t *groups, struct pw_import_head *head)
{
    json_t *group;
    const char *name;
    json_object_foreach((json_t *)groups, name, group)
    {
        const json_t *ranks = json_object_get(group, "global_ranks");
        const char *role = json_string_value(json_object_get(group, "group_name"));
        char number[32];
        group_number(name, number, sizeof(number));
        if (!json_array_size(ranks))
            continue;
        pw_import_add_group(head, name, ranks);
        pw_import_add_group(head, number, ranks);
        if (role && (strcmp(role, "default_group") == 0 || strcmp(role, "hccl_world_group") == 0)) {
            snprintf(head->job, sizeof(head->job), "%s", number);
            head->world_size = (int64_t)json_array_size(ranks);
        }
    }
}

static void read_metadata(const char *profile, struct pw_import_head *head)
{
    json_t *metadata = load_or_say(profile, "profiler_metadata.json",
                                   "groups and their ranks are not told by it", head);
    const json_t *arguments = json_object_get(metadata, "distributed_args"),
                 *world = json_object_get(arguments, "world_size"),
                 *rank = json_object_get(arguments, "rank");
    read_groups(json_object_get(metadata, "parallel_group_info"), head);
    if (json_is_integer(world) && json_integer_value(world) > 0 &&
        json_integer_value(world) < 1 << 24)
        head->world_size = (int64_t)json_integer_value(world);
    if (head->rank < 0 && json_is_integer(rank) && json_integer_value(rank) >= 0 &&
        json_integer_value(rank) < 1 << 24)
        head->rank = (int64_t)json_integer_value(rank);
    json_decref(metadata);
}

static void read_info(const char *profile, struct pw_import_head *head)
{
    static const struct {
        const char *key, *name;
    } versions[] = {
        {"ms_version", "MindSpore"}, {"torch_npu_version", "torch_npu"}, {"cann_version", "CANN"}};
    char name[64];
    size_t used = 0;
    const int64_t rank = find_number(profile, "profiler_info_", ".json");
    if (rank < 0)
        return;
    head->rank = rank;
    snprintf(name, sizeof(name), "profiler_info_%lld.json", (long long)rank);
    json_t *info = load_or_say(profile, name, "versions are not told by it", head);
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        const char *version = json_string_value(json_object_get(info, versions[i].key));
        if (version && *version && used < sizeof(head->maker))
            used += (size_t)snprintf(head->maker + used, sizeof(head->maker) - used, "%s%s %.24s",
                                     used ? ", " : "", versions[i].name, version);
    }
    json_decref(info);
}

void pw_ascend_profile_read(const char *profile, struct pw_import_head *head)
{
    char framework[PW_ASCEND_PATH];
    read_name(profile, head);
    read_info(profile, head);
    if (head->rank < 0 && join(framework, sizeof(framework), profile, "FRAMEWORK"))
        head->rank = find_number(framework, "cpu_op_type_info_", ".csv");
    read_metadata(profile, head);
}
