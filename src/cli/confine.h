/* Takes from a command what it does not need, before it reads files of unknown origin: a file that
 * took the command over through a fault in a library could then do little. Called once by each
 * command that reads such files, after its options are parsed and before the first file is opened.
 * Never called in `profwrap run`, whose limits the program would inherit. Tool code; may end the
 * process. */
#ifndef PW_CLI_CONFINE_H
#define PW_CLI_CONFINE_H

#include <stdint.h>

/* What a command needs beyond reading files and writing to what is open. */
enum pw_confine_needs {
    PW_CONFINE_WRITES = 1,    /* makes, writes, renames and removes files */
    PW_CONFINE_PROCESSES = 2, /* has child processes */
    PW_CONFINE_MPI = 4,       /* several processes of MPI: sockets, and each other's memory */
};

/* For the rest of the process and its children: no core file, and memory by `input_bytes`
 * (core/readlimit.h). By seccomp: no program is executed; no socket or message queue made; no file
 * system, module or host name changed; no other process traced, its limits and priorities not set;
 * none signalled, unless there are child processes or MPI; nothing written, made, renamed or
 * removed by name, unless files are written. By Landlock, but for MPI: no other process' memory or
 * open files reached through /proc, and, where the kernel can tell, none signalled but own
 * children. What a command that writes files may write is all that its user may, also below /proc
 * and /sys. Where the system lacks one of the two, its part is missing. */
void pw_confine(uint64_t input_bytes, unsigned needs);

/* 0 when system calls can be refused here, else -errno, -ENOSYS where this program was built
 * without libseccomp. For doctor; changes nothing. */
int pw_confine_probe(void);

/* The same of Landlock: 0, or -errno. */
int pw_confine_probe_domain(void);

#endif
