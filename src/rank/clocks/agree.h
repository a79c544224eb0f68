/* The collectors' agreement on whether clocks are synchronised over MPI. Called by the collectors
 * from their application's start on. Tool code; does not wait: the caller polls.
 *
 * Clocks are synchronised over MPI only when there are several hosts and the collectors cannot
 * measure over UDP (clockprobe.h).
 *
 * Either all ranks take part in the synchronisation over MPI, or none. When the application of a
 * rank enters MPI_Init with a probe, the rank registers in the page of its host
 * (rank/host/hostpage.h). The host's leader sends the registered ranks to the leader of rank 0's
 * host, by UDP, until it knows the decision. When all ranks of the job have registered, rank 0's
 * host decides: "no" when all are on this host, or when all registrations of other hosts came over
 * UDP and the collectors measure over it; otherwise "yes". It does not wait for all ranks when the
 * packets come from all hosts, by the numbers of ranks that the launcher has told: then "no" is
 * certain. When no further rank has registered for 5 s, it decides "no". So a job with one host
 * opens no port, and a job with several reads and writes a few files for each host.
 *
 * Rank 0's host has one core for the packets of all hosts, so the others do not send at the same
 * moment: each begins after a delay that is a hash of its clock domain, and repeats its packets at
 * intervals that grow. After an answer it only asks for the decision, at the longest interval.
 *
 * Where packets do not arrive (a firewall), the leaders make a file in the output directory for
 * each registered rank, and rank 0's host looks for these files. Such a file means that UDP does
 * not work between the two hosts.
 *
 * The decision is a symbolic link. On every file system, NFS included, creating a link is atomic,
 * and fails when the link exists. So there is only one decision, also when a leader that has heard
 * nothing for 10 s decides "no" itself. */
#ifndef PW_RANK_CLOCKS_AGREE_H
#define PW_RANK_CLOCKS_AGREE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/hash.h"
#include "rank/clocks/rendezvous.h"
#include "rank/host/hostpage.h"
#include "rank/ring/segment.h"

struct pw_agreement {
    struct pw_rendezvous meeting;
    struct pw_hostpage page;
    int rank, size;
    bool has_probes;       /* set by the caller: the collectors measure clocks over UDP */
    int hosted;            /* set by the caller: ranks on this host; 0: not known */
    int64_t registered_ns; /* local time, 0 before */
    /* The rest is for the leader of a host. */
    int socket; /* -1: not open */
    unsigned char key[PW_KEY_BYTES];
    uint64_t magic;
    int64_t began_ns;             /* when the leader saw the first registration; 0 before */
    int64_t next_look_ns, gap_ns; /* when to look into the output directory, and how long until the
                                   * next look after it */
    bool has_failed;              /* rank 0's host: no port can be opened */
    int64_t next_list_ns;         /* rank 0's host: when to look for files of ranks */
    int told;                     /* rank 0's host: how many others were told the decision */
    int64_t told_ns;              /* when the first of them was */
    /* Rank 0's host: the others that have sent packets. */
    int hosted_there; /* ranks on these hosts, as far as known */
    struct pw_hash known;
    struct sockaddr_in *hosts;
    int nhosts, capacity;
    /* The other hosts. */
    struct sockaddr_in first; /* address of rank 0's host */
    bool is_connected;        /* to it */
    bool has_shown; /* rank 0's host can see this host, by the link of pw_rendezvous_lead() */
    bool has_link;  /* this process has made the link */
    uint64_t link_domain;
    int64_t next_send_ns, send_gap_ns, heard_ns;
    uint32_t sent, filed; /* numbers of ranks that were registered then */
    uint32_t nsent;       /* how often packets were sent */
    int unanswered;       /* packets of the last sending that rank 0's host has not answered */
};

/* `domain` is the hash of the clock domain. */
void pw_agree_init(struct pw_agreement *agreement, const char *dir, uint64_t domain, int rank,
                   int size);

/* Does the work of this host's leader if this process is the leader. To be called regularly, also
 * after the decision. Returns whether this host waits for a decision or tells it to others: then
 * call it every millisecond. */
bool pw_agree_serve(struct pw_agreement *agreement);

/* Registers this rank at the first call. Returns the decision, or PW_SYNC_UNDECIDED. */
enum pw_sync_decision pw_agree_poll(struct pw_agreement *agreement);

/* Decides "no", unless there is a decision, because this rank cannot take part. */
void pw_agree_refuse(struct pw_agreement *agreement);

/* Ends this process's part. */
void pw_agree_end(struct pw_agreement *agreement);

/* Also removes this rank's files, and the decision when `last`. */
void pw_agree_fini(struct pw_agreement *agreement, bool last);

#endif
