/* What ranges.c and ranges_payloads.c share. */
#ifndef MPITEST_RANGES_H
#define MPITEST_RANGES_H

#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline nvtxEventAttributes_t event(const char *text)
{
    return (nvtxEventAttributes_t){
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .colorType = NVTX_COLOR_ARGB,
        .color = 0xff00ff00,
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message.ascii = text,
    };
}

static inline void check(int truth, const char *what)
{
    if (!truth) {
        fprintf(stderr, "not true: %s\n", what);
        exit(1);
    }
}

/* Registers a struct, one in it, and an enumeration; the outer struct's id. */
uint64_t register_schemas(nvtxDomainHandle_t domain);

/* Attaches it, and what is none of it, to ranges and marks. */
void payloads(void);

#endif
