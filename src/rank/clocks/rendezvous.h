/* Lets the collectors of a job's hosts find each other by small files in the output directory. On
 * every file system, when several collectors create the same file, exactly one succeeds. Called by
 * clockprobe.c and agree.c, and by src/run/, which removes the files at the end. Tool code; does
 * not wait: the caller polls.
 *
 *     .clock-key               the job's secret, readable by its owner only
 *
 * The other files are symbolic links. The target of each is not a path, but data:
 *
 *     .clock-domain-HASH       the addresses of a clock domain's leader
 *     .clock-reference         the hash of rank 0's domain
 *     .clock-service           the address and port at which probes are answered
 *     .clock-agreement         the address and port for the agreement (agree.h) */
#ifndef PW_RANK_CLOCKS_RENDEZVOUS_H
#define PW_RANK_CLOCKS_RENDEZVOUS_H

#include <netinet/in.h>
#include <stdint.h>

enum { PW_KEY_BYTES = 16 };

struct pw_rendezvous {
    char dir[4096];
    uint64_t domain;
};

/* Makes the caller the leader of its clock domain. Returns 0, -EEXIST when the domain has a leader,
 * or -errno. */
int pw_rendezvous_lead(const struct pw_rendezvous *r);

/* Removes the link that pw_rendezvous_lead() has made. */
void pw_rendezvous_leave(const struct pw_rendezvous *r);

/* Declares that this is rank 0's domain. */
void pw_rendezvous_claim_reference(const struct pw_rendezvous *r);

/* Returns 1 when this is rank 0's domain, 0 when it is another, -1 when it is not known yet. */
int pw_rendezvous_is_reference(const struct pw_rendezvous *r);

/* Reads the job's secret; the first caller creates it. Returns 0 or -errno; -EPERM when other users
 * could read it. */
int pw_rendezvous_key(const struct pw_rendezvous *r, unsigned char key[PW_KEY_BYTES]);

/* Finds which address of this host has a route to the leader of another domain. Returns 0; -ENOENT
 * while there is no other domain; -EHOSTUNREACH when no address of that leader can be reached. */
int pw_rendezvous_find_peer(const struct pw_rendezvous *r, struct in_addr *own);

/* The services of rank 0's host: the names of their links. */
#define PW_SERVICE_PROBES ".clock-service"
#define PW_SERVICE_AGREEMENT ".clock-agreement"

/* Write and read the address of a service. Writing replaces the address that an earlier collector
 * wrote. Both return 0 or -errno; pw_rendezvous_find_service() returns -ENOENT while no address is
 * written. */
int pw_rendezvous_publish(const struct pw_rendezvous *r, const char *service,
                          const struct sockaddr_in *at);
int pw_rendezvous_find_service(const struct pw_rendezvous *r, const char *service,
                               struct sockaddr_in *at);

/* Removes these files, for rank 0 at the end. Leaders remove their own links. Of the links that are
 * left, because their leaders were killed or still run, at most PW_RENDEZVOUS_REMOVE_MOST are
 * removed: on a shared file system, each takes time. */
enum { PW_RENDEZVOUS_REMOVE_MOST = 64 };
void pw_rendezvous_remove(const char *dir);

#endif
