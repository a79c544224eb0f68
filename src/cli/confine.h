/* Commands that read files of unknown origin give up what they do not need before they read: a file
 * that took them over through a fault of a library could then do little with it. */
#ifndef PW_CLI_CONFINE_H
#define PW_CLI_CONFINE_H

#include <stdint.h>

/* What a command needs beyond reading files and writing to what is open. */
enum pw_confine_needs {
    PW_CONFINE_WRITES = 1,    /* makes, writes, renames and removes files */
    PW_CONFINE_PROCESSES = 2, /* has child processes */
    PW_CONFINE_MPI = 4,       /* several processes of MPI: sockets, and each other's memory */
};

/* For the rest of the process and its children: no core file, memory by `input_bytes`
 * (core/readlimit.h), no program can be executed, no other process looked into or signalled, no
 * socket made, and nothing written by name, as far as `needs` allows. Where the system has no
 * seccomp, only the first two. */
void pw_confine(uint64_t input_bytes, unsigned needs);

/* 0 when system calls can be refused here, else -errno, -ENOSYS where this program was built
 * without libseccomp. For doctor; changes nothing. */
int pw_confine_probe(void);

#endif
