/* Inspects a program file before it is started: can it be found, run and preloaded? Called by
 * `profwrap run`, and by the watch for unrecorded MPI. Tool code; only reads, and trusts no offset
 * in the file. */
#ifndef PW_RANK_RUN_PROGRAM_H
#define PW_RANK_RUN_PROGRAM_H

enum pw_program_kind {
    PW_PROGRAM_OK,        /* dynamically linked, or a script */
    PW_PROGRAM_STATIC,    /* preloading has no effect on it */
    PW_PROGRAM_OTHER_ARCH /* an executable for another machine or word size */
};

/* Finds `name` as execvp() would. Returns 0 and sets `path`; -ENOENT (exit status 127 in a shell)
 * or -EACCES (126). */
int pw_program_find(const char *name, char *path, int size);

/* Reads the file's header and, for ELF, its segments. */
enum pw_program_kind pw_program_inspect(const char *path);

/* Whether the executable needs a shared library of an MPI whose ABI is not Open MPI's: that of
 * MPICH (libmpi.so.12, libmpi_*.so.12, libmpich*.so.*), or the standard one (libmpi_abi.so.*). 0
 * for scripts. */
int pw_program_needs_other_abi(const char *path);

/* The same of a command: whether one of its first words is such an executable, as in `env A=1
 * PROGRAM` or `sh -c 'exec "$@"' sh PROGRAM`. */
int pw_program_command_needs_other_abi(char *const *argv);

/* Whether an MPI library is linked into the executable, by its symbols; false when these were
 * stripped. *is_static is 1 when the executable is statically linked. */
int pw_program_has_mpi(const char *path, int *is_static);

#endif
