/* A page of memory that a job's guards and collectors on one host share. With it, one collector of
 * a host, its leader, does what each of them would otherwise do in the output directory, which may
 * be on a shared file system: it looks for requests and agrees with the other hosts
 * (rank/clocks/agree.h). Tool code; does not wait.
 *
 * "One host" means processes with the same clock that see the same output directory and the same
 * shared memory. Where shared memory cannot be used, each rank has a page of its own, and so is the
 * leader of a host with one rank.
 *
 * The page is a file in shared memory. Of each rank, the collector, or the guard while there is no
 * collector, holds a shared lock on one byte of the file. A file on which nobody holds the lock is
 * left from a job whose processes were all killed, and its content is not used. The leader holds an
 * exclusive lock on another byte; when it ends, the next process that calls pw_hostpage_lead()
 * becomes the leader. */
#ifndef PW_RANK_HOST_HOSTPAGE_H
#define PW_RANK_HOST_HOSTPAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The size of what pw_hostpage_put() publishes, at most. */
enum { PW_HOSTPAGE_NOTICE = 256 };

struct pw_hostpage_shared {
    uint32_t magic, size; /* size: number of ranks of the job */
    /* Written by rank/clocks/agree.c. */
    _Atomic uint32_t has_rank_0, decision, has_files;
    _Atomic uint32_t registered; /* ranks whose bit is set below */
    /* Rank 0's host: 1 when ranks of other hosts have registered, by packets or by files. */
    _Atomic uint32_t by_packets, by_files;
    _Atomic int64_t progress_ns; /* local time of the last registration */
    _Atomic int64_t leader_ns;   /* local time at which the leader was last at work */
    /* The leader's notice to the others, with a sequence number that is odd while it is written. */
    _Atomic uint32_t notice_number, notice_bytes;
    _Atomic int64_t notice_ns; /* local time of the leader's last look; 0: none */
    _Atomic uint64_t notice[PW_HOSTPAGE_NOTICE / 8];
    /* A bit for each rank: it has registered. */
    _Atomic uint64_t bits[];
};

struct pw_hostpage {
    struct pw_hostpage_shared *shared; /* NULL: not open */
    size_t bytes;
    char name[64]; /* of the file in shared memory; "" when the page is the rank's own */
    int fd;        /* of the file, with this process's locks; -1 */
    pid_t pid;     /* of the process that opened `fd` */
    pid_t opener;  /* of the process that opened the page; its children inherit the page */
    bool is_leader;
};

/* Opens the page of the job whose output directory is `dir`, with `size` ranks, on the host with
 * the clock domain `domain`. Always leaves a usable page, except without memory: returns 0 or
 * -ENOMEM. */
int pw_hostpage_open(struct pw_hostpage *page, const char *dir, uint64_t domain, int size);

/* Whether this process is the leader; it becomes the leader if the host has none. To be called in
 * the process itself, not before a fork. */
bool pw_hostpage_lead(struct pw_hostpage *page);

/* Ends the leadership of this process, because it will not go on calling the leader's functions. */
void pw_hostpage_resign(struct pw_hostpage *page);

/* Sets the bit of `rank`. Returns whether it was clear. */
bool pw_hostpage_set_registered(struct pw_hostpage *page, int rank);

/* Number of words of 64 bits, and the word `i`. */
int pw_hostpage_words(const struct pw_hostpage *page);
uint64_t pw_hostpage_registered(const struct pw_hostpage *page, int i);

/* Sets the registered bits of word `i`. Returns how many were clear. */
int pw_hostpage_add_registered(struct pw_hostpage *page, int i, uint64_t bits);

/* The leader publishes `bytes` bytes; 0: nothing. */
void pw_hostpage_put(struct pw_hostpage *page, const void *notice, size_t bytes, int64_t now_ns);

/* Reads what the leader published. Returns the number of bytes; -EAGAIN when the leader has
 * published nothing for `fresh_ns`, or is just writing. */
int pw_hostpage_get(const struct pw_hostpage *page, void *notice, size_t size, int64_t now_ns,
                    int64_t fresh_ns);

/* Closes the page in this process. The last process removes the file. */
void pw_hostpage_close(struct pw_hostpage *page);

/* Whether `name`, with its leading slash, is a page of this user that no process uses. */
bool pw_hostpage_is_abandoned(const char *name);

/* Removes the page of the job in `dir` on this host if no process uses it. */
void pw_hostpage_forget(const char *dir, uint64_t domain);

#endif
