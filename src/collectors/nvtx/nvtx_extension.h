/* The tables of functions that the probe gives to NVTX for locks and extended payloads.
 * nvtx_event.c hands them over, with its own, when NVTX is loaded. In-app: never exits, prints or
 * blocks. */
#ifndef PW_NVTX_EXTENSION_H
#define PW_NVTX_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

/* A function and its number in the table of an NVTX module or extension. */
struct pw_nvtx_callback {
    uint32_t number;
    void (*function)(void);
};

/* The last row of each has no function. */
extern const struct pw_nvtx_callback pw_nvtx_sync[];    /* NVTX_CB_MODULE_SYNC */
extern const struct pw_nvtx_callback pw_nvtx_payload[]; /* the payload extension */

#endif
