/* Looks for libcupti among the process's objects and on disk; see cuda_library.h. */
#include "collectors/cuda/cuda_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/probe/scope.h"

/* API version of CUPTI 11.8, the first with the layouts and clocks that are used here. */
enum { OLDEST = 18, MOST_TRIED = 16 };

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
    {"cuptiSubscribe", offsetof(struct pw_cupti, subscribe), false},
    {"cuptiUnsubscribe", offsetof(struct pw_cupti, unsubscribe), false},
    {"cuptiEnableCallback", offsetof(struct pw_cupti, enable_callback), false},
    {"cuptiSubscribe_v2", offsetof(struct pw_cupti, subscribe_v2), false},
};

static const struct {
    const char *name;
    size_t place;
} functions_v2[] = {
    {"cuptiActivityRegisterCallbacks_v2", offsetof(struct pw_cupti, set_callbacks_v2)},
    {"cuptiActivityEnable_v2", offsetof(struct pw_cupti, enable_v2)},
    {"cuptiActivityDisable_v2", offsetof(struct pw_cupti, disable_v2)},
    {"cuptiActivityGetNumDroppedRecords_v2", offsetof(struct pw_cupti, drops_v2)},
    {"cuptiActivityEnableRuntimeApi_v2", offsetof(struct pw_cupti, enable_runtime_v2)},
    {"cuptiActivityEnableDriverApi_v2", offsetof(struct pw_cupti, enable_driver_v2)},
    {"cuptiActivityGetAttribute_v2", offsetof(struct pw_cupti, get_attribute_v2)},
    {"cuptiActivitySetAttribute_v2", offsetof(struct pw_cupti, set_attribute_v2)},
    {"cuptiActivityGetStructSize", offsetof(struct pw_cupti, record_size)},
};

static struct {
    void *handle;
    struct pw_cupti cupti;
    bool is_usable;
    int refusal; /* result of the first library that did not return its version; 0 */
    size_t ntried;
    void *tried[MOST_TRIED]; /* libraries that were tried: ours, and those that cannot be used */
} ours;

static bool was_tried(const void *handle)
{
    for (size_t i = 0; i < ours.ntried; i++)
        if (ours.tried[i] == handle)
            return true;
    return false;
}

static bool bind(void *handle, struct pw_cupti *out)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *found = dlsym(handle, functions[i].name);
        if (!found && functions[i].is_needed)
            return false;
        memcpy((char *)out + functions[i].place, &found, sizeof(found));
    }
    out->has_v2 = out->subscribe_v2 && out->unsubscribe;
    for (size_t i = 0; i < sizeof(functions_v2) / sizeof(functions_v2[0]); i++) {
        void *found = dlsym(handle, functions_v2[i].name);
        out->has_v2 = out->has_v2 && found;
        memcpy((char *)out + functions_v2[i].place, &found, sizeof(found));
    }
    return true;
}

/* Uses this library if it was not tried before and has all needed functions. Returns whether it
 * does. */
static bool take(void *handle)
{
    uint32_t version = 0;
    if (!handle || was_tried(handle) || ours.ntried == MOST_TRIED)
        return false;
    ours.tried[ours.ntried++] = handle;
    ours.handle = handle;
    const bool is_whole = bind(handle, &ours.cupti);
    /* From 13.3 on, every function fails when CUPTI cannot use the driver, even this one. */
    const int result = is_whole ? ours.cupti.version(&version) : 0;
    ours.refusal = ours.refusal ? ours.refusal : result;
    ours.is_usable = is_whole && !result && version >= OLDEST;
    return ours.is_usable;
}

static bool take_file(const char *path)
{
    return take(dlopen(path, RTLD_LAZY | RTLD_LOCAL));
}

/* Returns a libcupti of the process that was not tried yet, or NULL. */
static void *find_loaded(void)
{
    char path[PATH_MAX];
    void *found = NULL;
    for (size_t i = 0; !found && pw_scope_path(pw_scope_is_named, "libcupti.so", i, path); i++) {
        found = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (found)
            dlclose(found); /* it stays loaded, because the program has loaded it */
        found = was_tried(found) ? NULL : found;
    }
    return found;
}

static bool take_loaded(void)
{
    void *found;
    while ((found = find_loaded()))
        if (take(found))
            return true;
    return false;
}

static bool take_of_folder(const char *folder, const char *inside)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                        "libcupti.so"};
    char path[PATH_MAX + 64];
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        snprintf(path, sizeof(path), "%s%s%s", folder, inside, names[n]);
        if (take_file(path))
            return true;
    }
    return false;
}

/* Looks in the folders near a CUDA library of the process: in a toolkit, or among Python packages,
 * where CUDA 12 has a folder for each library (nvidia/cublas/lib) and CUDA 13 has one for all
 * (nvidia/cu13/lib). */
static bool take_beside(const char *library)
{
    static const char *const places[] = {"", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/",
                                         "../../nvidia/cuda_cupti/lib/", "../../nvidia/cu13/lib/"};
    char path[PATH_MAX];
    for (size_t i = 0; pw_scope_path(pw_scope_is_named, library, i, path); i++) {
        char *slash = strrchr(path, '/');
        if (slash)
            slash[1] = '\0';
        for (size_t p = 0; slash && p < sizeof(places) / sizeof(places[0]); p++)
            if (take_of_folder(path, places[p]))
                return true;
    }
    return false;
}

static bool take_beside_cuda(void)
{
    static const char *const libraries[] = {"libcudart.so",     "libcublas.so",
                                            "libnvrtc.so",      "libcudnn.so",
                                            "libtorch_cuda.so", "xla_cuda_plugin.so"};
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (take_beside(libraries[i]))
            return true;
    return false;
}

/* Looks in the toolkit that environment variables name, as set by the user, a module or a package
 * manager. */
static bool take_of_toolkit(void)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH",  "CUDA_ROOT",
                                            "CUDADIR",   "EBROOTCUDA", "CONDA_PREFIX"};
    static const char *const places[] = {"/extras/CUPTI/lib64/", "/lib64/", "/lib/",
                                         "/targets/x86_64-linux/lib/", "/targets/sbsa-linux/lib/"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *root = getenv(variables[i]);
        for (size_t p = 0; root && *root && p < sizeof(places) / sizeof(places[0]); p++)
            if (take_of_folder(root, places[p]))
                return true;
    }
    return false;
}

const struct pw_cupti *pw_cupti_open(void)
{
    const char *named = getenv("PROFWRAP_CUPTI");
    ours.is_usable = false;
    bool found = take_loaded() || (named && *named && take_file(named)) || take_beside_cuda() ||
                 take_of_toolkit() || take_of_folder("", "") ||
                 take_of_folder("/usr/local/cuda", "/lib64/") ||
                 take_of_folder("/usr/local/cuda", "/extras/CUPTI/lib64/");
    return found ? &ours.cupti : NULL;
}

bool pw_cupti_was_found(void)
{
    return ours.ntried != 0;
}

int pw_cupti_refusal(void)
{
    return ours.refusal;
}

/* Finds the function for a caller without CUPTI in its scope: in the application's CUPTI when there
 * are two, else in ours. */
static void *find_any(const char *symbol)
{
    void *other = find_loaded();
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
