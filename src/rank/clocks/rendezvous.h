/* How the collectors of a job's hosts find each other: by small files in the output directory, made
 * so that the first of several collectors wins on every file system. Called by clockprobe.c and, at
 * the end, by the run that removes them. Tool code: never waits, the caller polls.
 *
 *     .clock-key               the job's secret, readable by its owner only
 *     .clock-domain-HASH       symbolic link to the addresses of a clock domain's leader
 *     .clock-reference         symbolic link to the hash of rank 0's domain
 *     .clock-service           symbolic link to the address and port that answers probes */
#ifndef PW_RANK_CLOCKS_RENDEZVOUS_H
#define PW_RANK_CLOCKS_RENDEZVOUS_H

#include <netinet/in.h>
#include <stdint.h>

enum { PW_KEY_BYTES = 16 };

struct pw_rendezvous {
    char dir[4096];
    uint64_t domain;
};

/* Makes the caller its domain's leader. 0, -EEXIST when it has one, or -errno. */
int pw_rendezvous_lead(const struct pw_rendezvous *r);

/* Says that this is rank 0's domain. */
void pw_rendezvous_claim_reference(const struct pw_rendezvous *r);

/* 1 when it is, 0 when another is, -1 while rank 0 has not said. */
int pw_rendezvous_is_reference(const struct pw_rendezvous *r);

/* The job's secret, made by the first to ask. 0 or -errno; -EPERM when others could read it. */
int pw_rendezvous_key(const struct pw_rendezvous *r, unsigned char key[PW_KEY_BYTES]);

/* The own address by which a leader of another domain is reached. 0; -ENOENT while there is no
 * other domain; -EHOSTUNREACH when no address of theirs can be reached. */
int pw_rendezvous_find_peer(const struct pw_rendezvous *r, struct in_addr *own);

/* Where probes are answered. 0 or -errno; -ENOENT while no rank answers. */
int pw_rendezvous_publish(const struct pw_rendezvous *r, const struct sockaddr_in *service);
int pw_rendezvous_find_service(const struct pw_rendezvous *r, struct sockaddr_in *service);

/* Removes all of these files. For rank 0, at the end. */
void pw_rendezvous_remove(const char *dir);

#endif
