/* Looks for libcupti among the process's objects and on the disk; see cuda_library.h. */
#include "collectors/cuda/cuda_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/probe/scope.h"

/* 11.8 is the first whose records and clocks are as they are read here. */
enum { OLDEST = 18 };

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
    {"cuptiActivityGetAttribute", offsetof(struct pw_cupti, get_attribute), false},
    {"cuptiActivitySetAttribute", offsetof(struct pw_cupti, set_attribute), false},
    {"cuptiFinalize", offsetof(struct pw_cupti, finalize), false},
};

static struct {
    void *handle;
    struct pw_cupti cupti;
    bool is_usable;
} ours;

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
    char path[PATH_MAX];
    void *found = NULL;
    for (size_t i = 0; !found && pw_scope_path(pw_scope_is_named, "libcupti.so", i, path); i++) {
        found = open_loaded(path);
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
    char runtime[PATH_MAX], path[PATH_MAX + 64];
    void *found = NULL;
    for (size_t i = 0; !found && pw_scope_path(pw_scope_is_named, "libcudart.so", i, runtime);
         i++) {
        char *slash = strrchr(runtime, '/');
        if (!slash)
            continue;
        slash[1] = '\0';
        for (size_t p = 0; p < 3 && !found; p++)
            for (size_t n = 0; n < 4 && !found; n++) {
                snprintf(path, sizeof(path), "%s%s%s", runtime, places[p], names[n]);
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

/* For who has it in no scope: the application's where there are two, else ours. */
static void *find_any(const char *symbol)
{
    void *other = find_loaded(ours.handle);
    return other || ours.is_usable ? dlsym(other ? other : ours.handle, symbol) : NULL;
}

void *pw_cupti_called(const char *symbol, const void *caller, int *is_ours)
{
    const struct pw_scope_query query = {.symbol = symbol, .caller = caller, .otherwise = find_any};
    struct pw_scope_answer answer;
    if (!pw_scope_recall(&query, &answer))
        answer = pw_scope_find(&query);
    const void *owner = answer.target ? pw_scope_object(answer.target) : NULL;
    *is_ours = owner && ours.is_usable && owner == ours.handle; /* a handle is a link_map */
    return answer.target;
}
