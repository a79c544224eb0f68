/* One rank of two that use NCCL without PyTorch. */
#ifndef GPUNCCL_H
#define GPUNCCL_H

/* Each collective of this libnccl once and then messages, between the ranks that RANK and
 * WORLD_SIZE tell of, whose id is in the file `id`. Prints what this library does not have; the
 * program's exit status. */
int use_nccl(const char *libnccl);

#endif
