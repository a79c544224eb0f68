/* Guards a command against what a damaged file does to the HDF5 library itself, which may crash or
 * run for ever: both become one sentence that names the file, and status 1. Installed by the
 * commands that read, told by h5reader.c what is read. Tool code; its handlers call only what a
 * signal handler may. */
#ifndef PW_CORE_H5_H5WATCH_H
#define PW_CORE_H5_H5WATCH_H

#include <hdf5.h>

/* For the rest of the process: on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, and when reading has
 * used 10 to 15 s of processor time without getting on, says which file was read and exits with 1.
 * After MPI_Init, which has handlers of its own. PROFWRAP_LOG=crash:1 leaves crashes alone, for a
 * debugger. Never in `profwrap run`, whose signals are the application's. */
void pw_h5_watch_install(void);

/* Told by h5reader.c: a file is being opened, this is its id, something of it is read, it is
 * closed. */
void pw_h5_watch_open(const char *path);
void pw_h5_watch_opened(hid_t file);
void pw_h5_watch_touch(hid_t file);
void pw_h5_watch_closed(hid_t file);

#endif
