/* Reads CUPTI's buffers that were left in shared memory when the program was killed. The
 * collector, or `profwrap recover`, calls it after the application's death. It trusts no length or
 * index in what it reads, and counts what it cannot read. */
#ifndef PW_CUDA_SALVAGE_H
#define PW_CUDA_SALVAGE_H

#include "rank/collect/collector.h"

extern pw_salvage pw_cuda_salvage;

#endif
