/* Another profiler, in the program itself. */
#ifndef GPUPROFILER_H
#define GPUPROFILER_H

/* Runs kernels before, while, between and after this libcupti is used as Kineto uses it, which
 * switches its kinds off twice. Prints how many kernels it was told of; the program's exit status.
 */
int profile_twice(const char *libcupti);

#endif
