/* The tables of functions that the probe gives to NVTX: those of ranges, marks, names and
 * registrations (nvtx_event.c), of locks and of extended payloads (nvtx_extension.c). nvtx_event.c
 * hands them over when NVTX is loaded. In-app: never exits, prints or blocks. */
#ifndef PW_NVTX_EVENT_H
#define PW_NVTX_EVENT_H

#include <stddef.h>
#include <stdint.h>

/* A function and its number in the table of an NVTX module or extension. */
struct pw_nvtx_callback {
    uint32_t number;
    void (*function)(void);
};

/* The last row of each has no function. */
extern const struct pw_nvtx_callback pw_nvtx_core[];    /* NVTX_CB_MODULE_CORE */
extern const struct pw_nvtx_callback pw_nvtx_core2[];   /* NVTX_CB_MODULE_CORE2 */
extern const struct pw_nvtx_callback pw_nvtx_sync[];    /* NVTX_CB_MODULE_SYNC */
extern const struct pw_nvtx_callback pw_nvtx_payload[]; /* the payload extension */

#endif
