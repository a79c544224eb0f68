/* Looks for libcupti among the process's objects and on the disk; see cuda_library.h. */
#include "collectors/cuda/cuda_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 11.8 is the first whose records and clocks are as they are read here. */
enum { OLDEST = 18, MOST_FOUND = 4 };

static const struct {
    const char *name;
    size_t place;
    bool is_needed;
} functions[] = {
    {"cuptiGetVersion", offsetof(struct pw_cupti, version), true},
    {"cuptiActivityRegisterTimestampCallback", offsetof(struct pw_cupti, set_clock), true},
    {"cuptiActivityRegisterCallbacks", offsetof(struct pw_cupti, set_callbacks), true},
    {"cuptiActivityEnable", offsetof(struct pw_cupti, enable), true},
    {"cuptiActivityDisable", offsetof(struct pw_cupti, disable), true},
    {"cuptiActivityFlushAll", offsetof(struct pw_cupti, flush_all), true},
    {"cuptiActivityGetNextRecord", offsetof(struct pw_cupti, next), true},
    {"cuptiActivityGetNumDroppedRecords", offsetof(struct pw_cupti, drops), true},
    {"cuptiGetCallbackName", offsetof(struct pw_cupti, callback_name), false},
    {"cuptiSetThreadIdType", offsetof(struct pw_cupti, set_thread_ids), false},
    {"cuptiActivityEnableRuntimeApi", offsetof(struct pw_cupti, enable_runtime), false},
    {"cuptiActivityEnableDriverApi", offsetof(struct pw_cupti, enable_driver), false},
    {"cuptiFinalize", offsetof(struct pw_cupti, finalize), false},
};

static struct {
    void *handle, *other_handle;
    struct pw_cupti cupti, other;
    bool is_usable;
} ours;

/* The objects of the process whose file's name begins so. */
struct search {
    const char *prefix;
    size_t n;
    char paths[MOST_FOUND][PATH_MAX];
};

static int note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *search = arg;
    (void)size;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (strncmp(name, search->prefix, strlen(search->prefix)) == 0 && search->n < MOST_FOUND &&
        strlen(path) < PATH_MAX)
        strcpy(search->paths[search->n++], path);
    return 0;
}

static void *open_loaded(const char *path)
{
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

static void *open_file(const char *path)
{
    return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

/* A libcupti in the process that is not `but`. */
static void *find_loaded(const void *but)
{
    struct search search = {.prefix = "libcupti.so"};
    void *found = NULL;
    dl_iterate_phdr(note_object, &search);
    for (size_t i = 0; i < search.n && !found; i++) {
        found = open_loaded(search.paths[i]);
        if (found)
            dlclose(found); /* whoever has loaded it keeps it */
        found = found == but ? NULL : found;
    }
    return found;
}

/* Beside the CUDA runtime that is in the process: in a toolkit, and among Python's packages. */
static void *find_beside_runtime(void)
{
    static const char *const places[] = {"", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/"};
    static const char *const names[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12",
                                        "libcupti.so.11.8"};
    struct search search = {.prefix = "libcudart.so"};
    dl_iterate_phdr(note_object, &search);
    void *found = NULL;
    for (size_t i = 0; i < search.n; i++) {
        char *slash = strrchr(search.paths[i], '/');
        if (!slash)
            continue;
        slash[1] = '\0';
        for (size_t p = 0; p < 3 && !found; p++)
            for (size_t n = 0; n < 4 && !found; n++) {
                char path[PATH_MAX + 64];
                snprintf(path, sizeof(path), "%s%s%s", search.paths[i], places[p], names[n]);
                found = open_file(path);
            }
    }
    return found;
}

static void *find_by_name(void)
{
    static const char *const names[] = {"libcupti.so.13",
                                        "libcupti.so.12",
                                        "libcupti.so.11.8",
                                        "libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
    void *found = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
        found = open_file(names[i]);
    return found;
}

static bool bind(void *handle, struct pw_cupti *out)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *found = dlsym(handle, functions[i].name);
        if (!found && functions[i].is_needed)
            return false;
        memcpy((char *)out + functions[i].place, &found, sizeof(found));
    }
    return true;
}

const struct pw_cupti *pw_cupti_open(void)
{
    const char *named = getenv("PROFWRAP_CUPTI");
    uint32_t version = 0;
    if (ours.handle)
        return ours.is_usable ? &ours.cupti : NULL;
    void *handle = find_loaded(NULL);
    if (!handle && named && *named)
        handle = open_file(named);
    handle = handle ? handle : find_beside_runtime();
    handle = handle ? handle : find_by_name();
    ours.handle = handle;
    ours.is_usable = handle && bind(handle, &ours.cupti) && ours.cupti.version(&version) == 0 &&
                     version >= OLDEST;
    return ours.is_usable ? &ours.cupti : NULL;
}

const struct pw_cupti *pw_cupti_called(int *is_ours)
{
    void *other = find_loaded(ours.handle);
    *is_ours = !other && ours.is_usable;
    if (!other)
        return ours.is_usable ? &ours.cupti : NULL;
    if (other != ours.other_handle && bind(other, &ours.other))
        ours.other_handle = other;
    return other == ours.other_handle ? &ours.other : NULL;
}
