/* Removes rights from a command before it reads files of unknown origin. If a hostile file takes
 * control of the command through a fault in a library, it can then do little. Called once by each
 * command that reads such files, after its options are parsed and before the first file is opened.
 * Never called in `profwrap run`, whose limits the program would inherit. Tool code; may end the
 * process. */
#ifndef PW_CLI_CONFINE_H
#define PW_CLI_CONFINE_H

#include <stdint.h>

/* What a command needs besides reading files and writing to open descriptors. */
enum pw_confine_needs {
    PW_CONFINE_WRITES = 1,    /* makes, writes, renames and removes files */
    PW_CONFINE_PROCESSES = 2, /* has child processes */
    PW_CONFINE_MPI = 4,       /* several processes of MPI: sockets, and each other's memory */
};

/* Limits the process and its children from now on. No core file; memory by `input_bytes`
 * (core/readlimit.h). seccomp forbids: to execute programs; to create sockets and message queues;
 * to change file systems, modules and the host name; to trace other processes and to set their
 * limits and priorities; to send signals, unless `needs` has processes or MPI; to write, create,
 * rename or remove files by name, unless `needs` has writes. Landlock, not used with MPI, forbids
 * to reach the memory and open files of other processes through /proc and, if the kernel supports
 * it, to signal processes other than children. A command that writes files can write all that its
 * user may, also below /proc and /sys. If the system has only one of the two, the other's rules are
 * not enforced. */
void pw_confine(uint64_t input_bytes, unsigned needs);

/* Returns 0 when seccomp works here, else -errno; -ENOSYS when this program was built without
 * libseccomp. For `doctor`; does not limit the caller. */
int pw_confine_probe(void);

/* The same for Landlock. */
int pw_confine_probe_domain(void);

#endif
