/* A stand-in for libamdhip64: it is linked with rocprofiler-register, and hands it tables when the
 * program first calls it. */
#include <stddef.h>
#include <stdint.h>

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
                                           uint32_t version, void **tables, uint64_t n,
                                           uint64_t *id);
int standin_hip_init(void);

/* The answer for HIP. */
int standin_hip_init(void)
{
    static void *table[1] = {table};
    uint64_t id = 0;
    rocprofiler_register_library_api_table("hsa", NULL, 11800, table, 1, &id);
    return rocprofiler_register_library_api_table("hip", NULL, 70000, table, 1, &id);
}
