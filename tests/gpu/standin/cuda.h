/* What the stand-in for libcuda has beside CUDA's own functions: for torch.c, and for validate.py,
 * which knows by standin_cuda() that no GPU is there. */
#ifndef STANDIN_CUDA_H
#define STANDIN_CUDA_H

#include <stdbool.h>
#include <stdint.h>

int standin_cuda(void);

/* What is broken on purpose: STANDIN_FAULT is this word. */
bool standin_fault(const char *which);

/* A kernel whose length is not known at its launch: the launch's number, and later, when it ran.
 * Times are standin_cuda_ns()'s. */
uint32_t standin_cuda_launch(const char *name);
void standin_cuda_ran(uint32_t correlation, const char *name, int64_t start, int64_t end);
int64_t standin_cuda_ns(void);

/* When a kernel that is launched now starts on an idle GPU. */
int64_t standin_cuda_soonest(void);

#endif
