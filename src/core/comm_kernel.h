/* Which kernels are those of NCCL, and of RCCL, which has kept their names and has MSCCL's, too:
 * one rule for the collector (nccl_tool.c), the merge (kernelrows.c) and the HTML report. It looks
 * at the name alone. */
#ifndef PW_CORE_COMM_KERNEL_H
#define PW_CORE_COMM_KERNEL_H

#include <stdbool.h>
#include <string.h>

/* Whether a kernel is one, by its name as CUPTI gives it (_Z29ncclDevKernel...) or demangled (void
 * ncclDevKernel<...). Types of NCCL's among a function's parameters do not count. */
static inline bool pw_is_comm_kernel(const char *name)
{
    if (strncmp(name, "_Z", 2) == 0) {
        name += name[2] == 'L' ? 3 : 2;
        name += strspn(name, "0123456789");
    } else if (strncmp(name, "void ", 5) == 0) {
        name += 5;
    }
    if (strncmp(name, "nccl", 4) != 0 && strncmp(name, "msccl", 5) != 0)
        return false;
    const char *kernel = strstr(name, "Kernel");
    return kernel && (size_t)(kernel - name) < strcspn(name, "(<");
}

#endif
