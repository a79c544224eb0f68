/* The words of `--activities` that are recorded by default. A row is the word, a remark for --help,
 * and the bit (rank/ring/record.h). run/activities.c has the other words that --activities takes:
 * the names of the collectors. Used by options.def and run/activities.c. Nothing but macros; see
 * choices.h. */
#ifndef PW_CORE_ACTIVITY_WORDS_H
#define PW_CORE_ACTIVITY_WORDS_H

#define PW_ACTIVITIES(FIRST, NEXT)                               \
    FIRST(mpi, "", PW_ACTIVITY_MPI)                              \
    NEXT(nccl, "", PW_ACTIVITY_NCCL)                             \
    NEXT(torch, " (torch.distributed)", PW_ACTIVITY_TORCH)       \
    NEXT(mindspore, " (its collectives)", PW_ACTIVITY_MINDSPORE) \
    NEXT(annotations, " (profwrap.h)", PW_ACTIVITY_ANNOTATIONS)  \
    NEXT(nvtx, "", PW_ACTIVITY_NVTX)                             \
    NEXT(cuda, " (NVIDIA GPUs)", PW_ACTIVITY_CUDA)               \
    NEXT(rocm, " (AMD GPUs)", PW_ACTIVITY_ROCM)                  \
    NEXT(sys, " (/proc)", PW_ACTIVITY_SYS)

#endif
