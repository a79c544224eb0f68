/* The probe is offered to NVTX, CUDA and NCCL as their tool, by variables in the program's
 * environment, unless they name another one: then one line says so. */
#ifndef PW_RUN_OFFERS_H
#define PW_RUN_OFFERS_H

#include "run/run.h"

int pw_run_offers_nvtx(const struct pw_run *run, const char *probe);
int pw_run_offers_cuda(const struct pw_run *run, const char *probe);
/* What NCCL is to load, NULL nothing. */
const char *pw_run_offers_nccl(const struct pw_run *run, const char *probe);

/* With --audit, the path in `out` of the library beside the probe that the loader is to ask; else,
 * and where it is not there, NULL. */
const char *pw_run_offers_audit(const struct pw_run *run, const char *probe, char *out,
                                size_t size);

#endif
