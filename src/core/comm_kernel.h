/* Decides by the name of a kernel whether it is one of communication, of which library, and which
 * operation it does, by one table (comm_kernel.c). RCCL's kernels have the names of NCCL's or
 * MSCCL's. In imported files, each operation of HCCL is one kernel ("hcom_allReduce"). Used by the
 * collector (nccl_tool.c), the import, the merge (kernelrows.c) and the HTML report, so that all of
 * them decide in the same way. Looks at nothing but the name. */
#ifndef PW_CORE_COMM_KERNEL_H
#define PW_CORE_COMM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose operations have a source of their own (enum pw_source); device: kernels that ranks write
 * for each other, without a library that numbers them. */
enum pw_comm_library {
    PW_COMM_NCCL,
    PW_COMM_HCCL,
    PW_COMM_ONECCL,
    PW_COMM_DEVICE,
};

/* A row of the table. */
struct pw_comm_kernel {
    const char *space; /* a namespace that the kernel is in, or two ("dpsk::ep"); "": any */
    const char *name;  /* begin of its name there; "*word", in a namespace only: a part */
    const char *with;  /* another part that it must have, "(word" among its parameters; "": none */
    uint8_t library;   /* enum pw_comm_library */
    uint16_t op;       /* enum pw_op; PW_OP_None: the name says it, or it is not known */
    const char *whose; /* library or program, and where the name is from */
};

/* Returns the row of a kernel's name, NULL when it is not of communication. The name may be
 * mangled, as CUPTI gives it (_Z29ncclDevKernel...), or demangled (void ncclDevKernel<...). A
 * kernel that only has a library's types among its parameters is none of it, unless a row names
 * them. */
const struct pw_comm_kernel *pw_comm_kernel_find(const char *name, size_t length);

bool pw_is_comm_kernel(const char *name);

/* Whether it is a kernel of NCCL or RCCL, whose operations NCCL's own records tell. */
bool pw_is_nccl_kernel(const char *name);

#endif
