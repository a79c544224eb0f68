/* The tool halves of all collector modules: each owns the row of its name, whose functions the
 * collector process calls (rank/collect/module.h). run/activities.c puts them into a table,
 * whose order matters; tests use single rows. Tool code only: nothing here is in the
 * application. */
#ifndef PW_COLLECTORS_MODULES_H
#define PW_COLLECTORS_MODULES_H

#include "rank/collect/module.h"

extern const struct pw_module pw_module_mpi;         /* calls of MPI */
extern const struct pw_module pw_module_nccl;        /* operations of NCCL and RCCL */
extern const struct pw_module pw_module_torch;       /* calls of torch.distributed */
extern const struct pw_module pw_module_mindspore;   /* MindSpore's collectives on CPUs */
extern const struct pw_module pw_module_annotations; /* calls of profwrap.h's functions */
extern const struct pw_module pw_module_nvtx;        /* calls of NVTX */
extern const struct pw_module pw_module_gpu;         /* what ran on GPUs */
extern const struct pw_module pw_module_sys;         /* samples of /proc/PID */
extern const struct pw_module pw_module_workers;     /* samples of the processes that it started */
extern const struct pw_module pw_module_host;        /* samples of the machine and the cgroup */
extern const struct pw_module pw_module_network;     /* samples of its network cards */
extern const struct pw_module pw_module_null;        /* the worked example */

#endif
