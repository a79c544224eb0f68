/* The probe is offered to NVTX, CUDA and NCCL as their tool, by variables in the program's
 * environment, unless they name another one: then one line says so. */
#ifndef PW_CLI_OFFERS_H
#define PW_CLI_OFFERS_H

#include "cli/run.h"

int pw_run_offers_nvtx(const struct pw_run *run, const char *probe);
int pw_run_offers_cuda(const struct pw_run *run, const char *probe);
int pw_run_offers_nccl(const struct pw_run *run, const char *probe);

#endif
