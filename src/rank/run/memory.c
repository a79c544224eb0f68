/* Reads /proc/meminfo and the limits of cgroups; see memory.h. */
#include "rank/run/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t machine_bytes(const char *root)
{
    char path[4200], line[256];
    int64_t kib = 0;
    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file) &&
           sscanf(line, "MemTotal: %" SCNd64 " kB", &kib) != 1)
        ;
    if (file)
        fclose(file);
    return kib > 0 ? least(kib, INT64_MAX >> 10) << 10 : INT64_MAX;
}

/* Returns the number in the file DIRECTORY/NAME; INT64_MAX when it is "max" or not readable. */
static int64_t read_limit(const char *directory, const char *name)
{
    char path[4200];
    int64_t bytes = 0;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    int n = file ? fscanf(file, "%" SCNd64, &bytes) : 0;
    if (file)
        fclose(file);
    return n == 1 && bytes > 0 ? bytes : INT64_MAX;
}

/* Returns the smallest value of the file `name` in the cgroup `path` under `mount` and in the
 * cgroups above it. In a container the mount itself is the container's cgroup, whatever `path`
 * is. */
static int64_t limit_of(const char *root, const char *mount, const char *path, const char *name)
{
    char directory[4096];
    int64_t limit = INT64_MAX;
    snprintf(directory, sizeof(directory), "%s%s%s", root, mount, path);
    const size_t end = strlen(root) + strlen(mount);
    for (size_t n = strlen(directory); n >= end; n--) {
        if (n != end && directory[n] != '/' && directory[n] != '\0')
            continue;
        directory[n] = '\0';
        limit = least(limit, read_limit(directory, name));
    }
    return limit;
}

/* cgroups(7): lines "hierarchy:controllers:path"; version 2 has no controllers. Returns the path,
 * and sets *controllers; NULL when the line is no such line. */
static char *split_line(char *line, char **controllers)
{
    line[strcspn(line, "\n")] = '\0';
    *controllers = strchr(line, ':');
    char *path = *controllers ? strchr(++*controllers, ':') : NULL;
    if (path)
        *path++ = '\0';
    return path;
}

static int64_t limit_of_line(const char *root, char *line)
{
    char *controllers;
    const char *path = split_line(line, &controllers);
    if (!path)
        return INT64_MAX;
    if (*controllers == '\0')
        return least(limit_of(root, "/sys/fs/cgroup", path, "memory.max"),
                     limit_of(root, "/sys/fs/cgroup/unified", path, "memory.max"));
    if (strcmp(controllers, "memory") == 0)
        return limit_of(root, "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes");
    return INT64_MAX;
}

int64_t pw_memory_limit(const char *root)
{
    char path[4200], line[4096];
    int64_t limit = machine_bytes(root);
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        limit = least(limit, limit_of_line(root, line));
    if (file)
        fclose(file);
    return limit;
}

/* Returns the number after the word `oom_kill` in the file DIRECTORY/NAME; -1 when there is none.
 */
static int64_t read_kills(const char *directory, const char *name)
{
    char path[4200], line[128];
    int64_t kills = -1;
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file) &&
           sscanf(line, "oom_kill %" SCNd64, &kills) != 1)
        ;
    if (file)
        fclose(file);
    return kills;
}

/* Reads the cgroup `path` under `mount`, or the first one above it that has the file. */
static int64_t kills_of(const char *root, const char *mount, const char *path, const char *name)
{
    char directory[4096];
    int64_t kills = -1;
    snprintf(directory, sizeof(directory), "%s%s%s", root, mount, path);
    const size_t end = strlen(root) + strlen(mount);
    for (size_t n = strlen(directory); n >= end && kills < 0; n--) {
        if (n != end && directory[n] != '/' && directory[n] != '\0')
            continue;
        directory[n] = '\0';
        kills = read_kills(directory, name);
    }
    return kills;
}

static int64_t kills_of_line(const char *root, char *line)
{
    char *controllers;
    const char *path = split_line(line, &controllers);
    if (!path)
        return -1;
    if (strcmp(controllers, "memory") == 0)
        return kills_of(root, "/sys/fs/cgroup/memory", path, "memory.oom_control");
    if (*controllers)
        return -1;
    const int64_t kills = kills_of(root, "/sys/fs/cgroup", path, "memory.events");
    return kills >= 0 ? kills : kills_of(root, "/sys/fs/cgroup/unified", path, "memory.events");
}

int64_t pw_memory_oom_kills(const char *root)
{
    char path[4200], line[4096];
    int64_t kills = -1;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file && kills < 0 && fgets(line, sizeof(line), file))
        kills = kills_of_line(root, line);
    if (file)
        fclose(file);
    return kills;
}
