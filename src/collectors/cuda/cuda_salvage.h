/* Reads what CUPTI had written when the program was killed. */
#ifndef PW_CUDA_SALVAGE_H
#define PW_CUDA_SALVAGE_H

#include "rank/collect/collector.h"

extern pw_salvage pw_cuda_salvage;

#endif
