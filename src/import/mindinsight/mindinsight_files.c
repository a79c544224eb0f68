/* Finds the files of each rank by their names; see mindinsight_files.h. The names are those of
 * MindSpore's mindspore/profiler/parser and of mindinsight/profiler/analyser. */
#include "import/mindinsight/mindinsight_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/parsers/csvfile.h"

static const struct {
    const char *begin, *end;
} file_names[PW_MINDINSIGHT_FILES] = {
    [PW_MINDINSIGHT_STEPS] = {"step_trace_raw_", "_detail_time.csv"},
    [PW_MINDINSIGHT_TIMELINE] = {"output_timeline_data_", ".txt"},
    [PW_MINDINSIGHT_AICPU] = {"aicpu_intermediate_", ".csv"},
    [PW_MINDINSIGHT_GPU] = {"activity_execute_timestamp_", ".txt"},
    [PW_MINDINSIGHT_SENT] = {"device_queue_profiling_", ".txt"},
    [PW_MINDINSIGHT_FED] = {"dataset_iterator_profiling_", ".txt"},
    [PW_MINDINSIGHT_GOT] = {"minddata_aicpu_", ".txt"},
    [PW_MINDINSIGHT_GOT_GPU] = {"minddata_getnext_profiling_", ".txt"},
    [PW_MINDINSIGHT_PIPELINE] = {"minddata_pipeline_raw_", ".csv"},
    [PW_MINDINSIGHT_DETAIL] = {"aicore_intermediate_", "_detail.csv"},
    [PW_MINDINSIGHT_TYPES] = {"aicore_intermediate_", "_type.csv"},
};

enum pw_mindinsight_file pw_mindinsight_file_of(const char *path, int64_t *rank)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int i = 0; i < PW_MINDINSIGHT_FILES; i++) {
        const size_t n = strlen(file_names[i].begin);
        char *behind;
        if (strncmp(name, file_names[i].begin, n) != 0 || !isdigit((unsigned char)name[n]))
            continue;
        errno = 0;
        const long long number = strtoll(name + n, &behind, 10);
        if (errno || number >= 1 << 24 || strcmp(behind, file_names[i].end) != 0)
            continue;
        *rank = number;
        return (enum pw_mindinsight_file)i;
    }
    return PW_MINDINSIGHT_FILES;
}

int pw_mindinsight_path(const char *directory, enum pw_mindinsight_file file, int64_t rank,
                        char *out, size_t size)
{
    const int n = snprintf(out, size, "%s/%s%lld%s", directory, file_names[file].begin,
                           (long long)rank, file_names[file].end);
    return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

int pw_mindinsight_directory(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    const int length = slash == path ? 1 : slash ? (int)(slash - path) : 1;
    const int n = snprintf(out, size, "%.*s", length, slash ? path : ".");
    return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

enum pw_mindinsight_file pw_mindinsight_main(const char *directory, int64_t rank)
{
    char path[PW_ASCEND_PATH];
    struct stat status;
    int i = 0;
    while (i < PW_MINDINSIGHT_FILES &&
           (pw_mindinsight_path(directory, (enum pw_mindinsight_file)i, rank, path, sizeof(path)) ||
            stat(path, &status) || !S_ISREG(status.st_mode)))
        i++;
    return (enum pw_mindinsight_file)i;
}

static int add(struct pw_ascend_found *found, const char *path)
{
    char **more = realloc(found->paths, (found->n + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    found->paths = more;
    more[found->n] = strdup(path);
    return more[found->n++] ? 0 : -ENOMEM;
}

/* Raw data of the device, in which nothing is looked for. */
static int is_raw(const char *name)
{
    return strncmp(name, "PROF_", 5) == 0 || strncmp(name, "JOB", 3) == 0;
}

static int find_below(const char *directory, int depth, struct pw_ascend_found *out);

static int take_entry(const char *directory, const char *name, int depth,
                      struct pw_ascend_found *out)
{
    char path[PW_ASCEND_PATH];
    struct stat status;
    int64_t rank;
    if (name[0] == '.' ||
        (size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path) ||
        stat(path, &status))
        return 0;
    if (S_ISDIR(status.st_mode))
        return depth > 0 && !is_raw(name) ? find_below(path, depth - 1, out) : 0;
    const enum pw_mindinsight_file file = pw_mindinsight_file_of(name, &rank);
    return file < PW_MINDINSIGHT_FILES && file == pw_mindinsight_main(directory, rank)
               ? add(out, path)
               : 0;
}

static int find_below(const char *directory, int depth, struct pw_ascend_found *out)
{
    struct dirent **entries;
    const int n = scandir(directory, &entries, NULL, alphasort);
    int err = 0;
    if (n < 0)
        return errno == EACCES ? 0 : -errno;
    for (int i = 0; i < n; i++) {
        err = err ? err : take_entry(directory, entries[i]->d_name, depth, out);
        free(entries[i]);
    }
    free(entries);
    return err;
}

int pw_mindinsight_find(const char *path, struct pw_ascend_found *out)
{
    enum { DEEPEST = 4 };
    *out = (struct pw_ascend_found){0};
    return find_below(path, DEEPEST, out);
}

int pw_mindinsight_has(const struct pw_mindinsight *m, enum pw_mindinsight_file file, char *out,
                       size_t size)
{
    struct stat status;
    return pw_mindinsight_path(m->directory, file, m->rank, out, size) == 0 &&
           stat(out, &status) == 0 && S_ISREG(status.st_mode);
}

void pw_mindinsight_complain(struct pw_mindinsight *m, const char *path, int err)
{
    if (!m->problem[0])
        snprintf(m->problem, m->size, "%.100s is not read to its end: %s",
                 path + strlen(m->directory) + 1,
                 err == -EBADMSG ? "it is no JSON, or half written, or larger than 64 MiB"
                                 : pw_csv_error(err));
}
