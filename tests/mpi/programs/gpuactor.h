/* Between the files of gpuactor. */
#ifndef GPUACTOR_H
#define GPUACTOR_H

#include "standin/standin.h"

#define STANDIN_POINTER(answer, name, parameters) answer(*name) parameters;
struct gpu {
    STANDIN_FUNCTIONS(STANDIN_POINTER)
};
extern struct gpu gpu;

/* A function of the library, which must have it. */
void find(void *library, const char *name, void *pointer);

void nap(int ms);

/* A kernel launched now, whose "run" is now, too. */
void launch(uint32_t device, uint32_t stream, const char *name);

/* A profiler that records from before CUDA starts until the end. */
void profile_all_the_time(void);

/* What profilers in a program do with CUPTI; 0: it is none of that. */
int be_profiler(const char *what);

#endif
