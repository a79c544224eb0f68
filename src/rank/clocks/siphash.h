/* SipHash-2-4: a keyed 64-bit code for short messages (Aumasson and Bernstein, INDOCRYPT 2012).
 * Called by clockprobe.c for its packets. A pure function. */
#ifndef PW_RANK_CLOCKS_SIPHASH_H
#define PW_RANK_CLOCKS_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t pw_siphash(const unsigned char key[16], const void *message, size_t length);

#endif
