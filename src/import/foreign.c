/* Recognises files of other tools that are no JSON; see foreign.h. */
#include "import/foreign.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/safefile.h"

#define RECORD "; record the job itself: mpirun profwrap PROGRAM"
#define RECORD_GPU RECORD ", which records GPUs"
#define UNPACK "; unpack it, and import what is in it"

/* The first row that fits: the file's name, the bytes that it begins with, and a text in its first
 * HEAD bytes. NULL fits all. Databases of SQLite begin with their tables' definitions. */
static const struct {
    const char *name, *begin, *text, *says;
} rows[] = {
    {NULL, "SQLite format 3", "CUPTI_ACTIVITY_KIND_", "is an export of Nsight Systems" RECORD_GPU},
    {NULL, "SQLite format 3", "TARGET_INFO_", "is an export of Nsight Systems" RECORD_GPU},
    {NULL, "SQLite format 3", "rocpd_", "is a database of rocprof (rocpd)" RECORD_GPU},
    {"*.rpd", "SQLite format 3", NULL, "is a database of rocprof (rpd)" RECORD_GPU},
    {"*.nsys-rep", NULL, NULL, "is a report of Nsight Systems" RECORD_GPU},
    {"*.qdrep", NULL, NULL, "is a report of Nsight Systems" RECORD_GPU},
    {"*.ncu-rep", NULL, NULL, "is a report of Nsight Compute, of single kernels" RECORD_GPU},
    {"*.xplane.pb", NULL, NULL, "is a profile of JAX or TensorFlow (XLA)" RECORD_GPU},
    {"*.pftrace", NULL, NULL, "is a trace of Perfetto, as rocprofv3 writes it" RECORD_GPU},
    {"*.perfetto-trace", NULL, NULL, "is a trace of Perfetto" RECORD},
    {NULL, "ARROW1", NULL, "is a table of Apache Arrow, as Nsight Systems exports it" RECORD_GPU},
    {NULL, "PAR1", NULL, "is a table of Parquet, as Nsight Systems exports it" RECORD_GPU},
    {NULL, "#Paraver", NULL, "is a trace of Paraver (Extrae)" RECORD},
    {"*.prv.gz", NULL, NULL, "is a trace of Paraver (Extrae)" RECORD},
    {"*.slog2", NULL, NULL, "is a trace of Jumpshot" RECORD},
    {"*.cubex", NULL, NULL, "is a profile of Score-P, without events; import its OTF2 archive"},
    {"*_trace.csv", "\"Kind\"", NULL, "is a table of rocprofv3" RECORD_GPU},
    {NULL, "\x28\xb5\x2f\xfd", NULL, "is compressed with zstd; decompress it: zstd -d FILE"},
    {NULL,
     "\xfd"
     "7zXZ",
     NULL, "is compressed with xz; decompress it: xz -d FILE"},
    {NULL, "BZh", NULL, "is compressed with bzip2; decompress it: bzip2 -d FILE"},
    {NULL, "PK\x03\x04", NULL, "is a zip archive" UNPACK},
    {"*.tar.gz", NULL, NULL, "is an archive of tar" UNPACK},
    {"*.tgz", NULL, NULL, "is an archive of tar" UNPACK},
    {"*.tar", NULL, NULL, "is an archive of tar" UNPACK},
};

const char *pw_foreign_file(const char *path)
{
    enum { HEAD = 1 << 16 };
    char head[HEAD];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const int fd = pw_open_regular(path, 0);
    const ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && n >= 0; i++) {
        const size_t begin = rows[i].begin ? strlen(rows[i].begin) : 0;
        if ((!rows[i].name || fnmatch(rows[i].name, name, 0) == 0) && (size_t)n >= begin &&
            (!begin || memcmp(head, rows[i].begin, begin) == 0) &&
            (!rows[i].text || memmem(head, (size_t)n, rows[i].text, strlen(rows[i].text))))
            return rows[i].says;
    }
    return NULL;
}

const char *pw_foreign_in(const char *directory, char name[256])
{
    const char *says = NULL;
    char path[4200];
    DIR *dir = opendir(directory);
    for (const struct dirent *entry; dir && !says && (entry = readdir(dir));) {
        if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >= (int)sizeof(path))
            continue;
        says = pw_foreign_file(path);
        snprintf(name, 256, "%s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return says;
}
