/* Decides by the name of a kernel whether it belongs to NCCL, RCCL or HCCL. RCCL's kernels have the
 * names of NCCL's or MSCCL's kernels. In imported files, each operation of HCCL is one kernel
 * ("hcom_allReduce"). Used by the collector (nccl_tool.c), the merge (kernelrows.c) and the HTML
 * report, so that all of them decide in the same way. Looks at nothing but the name. */
#ifndef PW_CORE_COMM_KERNEL_H
#define PW_CORE_COMM_KERNEL_H

#include <stdbool.h>
#include <string.h>

/* Returns whether `name` is a kernel of NCCL, RCCL or HCCL. The name may be mangled, as CUPTI gives
 * it (_Z29ncclDevKernel...), or demangled (void ncclDevKernel<...). A kernel that only has NCCL's
 * types among its parameters is not a kernel of NCCL. */
static inline bool pw_is_comm_kernel(const char *name)
{
    if (strncmp(name, "_Z", 2) == 0) {
        name += name[2] == 'L' ? 3 : 2;
        name += strspn(name, "0123456789");
    } else if (strncmp(name, "void ", 5) == 0) {
        name += 5;
    }
    if (strncmp(name, "hcom_", 5) == 0)
        return true;
    if (strncmp(name, "nccl", 4) != 0 && strncmp(name, "msccl", 5) != 0)
        return false;
    const char *kernel = strstr(name, "Kernel");
    return kernel && (size_t)(kernel - name) < strcspn(name, "(<");
}

#endif
