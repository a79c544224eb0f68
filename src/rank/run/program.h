/* Inspects a program file before it is started: can it be found, run and preloaded? Called by
 * `profwrap run`, and by the watch for unrecorded MPI. Tool code; only reads, and trusts no offset
 * in the file. */
#ifndef PW_RANK_RUN_PROGRAM_H
#define PW_RANK_RUN_PROGRAM_H

enum pw_program_kind {
    PW_PROGRAM_OK,        /* dynamically linked, or a script */
    PW_PROGRAM_STATIC,    /* preloading has no effect on it */
    PW_PROGRAM_OTHER_MPI, /* linked against an MPI that is not Open MPI: `detail` names the library
                           */
    PW_PROGRAM_OTHER_ARCH /* an executable for another machine or word size */
};

/* Finds `name` as execvp would. 0 and its path; -ENOENT (a shell's 127) or -EACCES (126). */
int pw_program_find(const char *name, char *path, int size);

/* Looks at the file's first bytes and, for ELF, at what it needs. `detail` is "" or a library. */
enum pw_program_kind pw_program_inspect(const char *path, char *detail, int size);

/* Whether the executable has an MPI library inside: its symbols say so, if they were not stripped.
 * `is_static`: it is statically linked. */
int pw_program_has_mpi(const char *path, int *is_static);

#endif
