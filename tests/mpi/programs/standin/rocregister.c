/* A stand-in for librocprofiler-register, after
 * source/lib/rocprofiler-register/rocprofiler_register.cpp of ROCm 7.0: it looks for a tool by its
 * name in everybody's names and in ROCP_TOOL_LIBRARIES, loads rocprofiler-sdk when there is one,
 * and ends the program when it cannot. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NO_TOOLS = 1, ROCPROFILER_ERROR = 6 };

typedef int set_tables(const char *name, uint64_t version, uint64_t instance, void **tables,
                       uint64_t n);

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
                                           uint32_t version, void **tables, uint64_t n,
                                           uint64_t *id);

static set_tables *find_rocprofiler(void)
{
    set_tables *found;
    void *symbol = dlsym(RTLD_DEFAULT, "rocprofiler_set_api_table");
    if (!symbol) {
        void *library = dlopen("librocprofiler-sdk.so", RTLD_LAZY | RTLD_GLOBAL);
        symbol = library ? dlsym(library, "rocprofiler_set_api_table") : NULL;
    }
    memcpy(&found, &symbol, sizeof(found));
    return found;
}

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
                                           uint32_t version, void **tables, uint64_t n,
                                           uint64_t *id)
{
    const char *enabled = getenv("ROCPROFILER_REGISTER_ENABLED"),
               *named = getenv("ROCP_TOOL_LIBRARIES");
    (void)import;
    *id = 1;
    if (enabled && strcmp(enabled, "0") == 0)
        return NO_TOOLS;
    if (!dlsym(RTLD_DEFAULT, "rocprofiler_configure") && !(named && *named))
        return NO_TOOLS;
    set_tables *set = find_rocprofiler();
    if (!set) {
        fprintf(stderr, "rocprofiler_set_api_table not found\n");
        abort(); /* LOG_IF(FATAL, ...) */
    }
    return set(name, version, 0, tables, n) ? ROCPROFILER_ERROR : SUCCESS;
}
