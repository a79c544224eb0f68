/* Packets between the collectors of a job, over UDP. Each begins with a number that is derived from
 * the job's secret (rendezvous.h), and ends with a code that is computed with the secret. Called by
 * clockprobe.c and agree.c. Tool code; does not wait. */
#ifndef PW_RANK_CLOCKS_PACKET_H
#define PW_RANK_CLOCKS_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "rank/clocks/rendezvous.h"

/* SipHash-2-4: a keyed 64-bit code for short messages (Aumasson and Bernstein, INDOCRYPT 2012). A
 * pure function. */
uint64_t pw_siphash(const unsigned char key[16], const void *message, size_t length);

/* Returns the first number of the packets for one purpose, which `purpose` names. */
uint64_t pw_packet_magic(const unsigned char key[PW_KEY_BYTES], const char *purpose);

/* Makes the kernel drop packets of other lengths than `bytes`, and those that do not begin with the
 * `n` (at most 4) 32-bit words of `begin`, without waking the receiver. So packets of a sender that
 * knows neither the secret nor a packet of this job cost the collector nothing. If the filter
 * cannot be set, the receiver checks every packet. */
void pw_packet_filter(int fd, size_t bytes, const void *begin, int n);

#endif
