/* When a damaged file makes the HDF5 library crash or loop for ever, ends the command with one
 * sentence that names the file, and status 1. Installed by the commands that read files; h5reader.c
 * tells it which file is being read. Tool code; its handlers call only async-signal-safe
 * functions. */
#ifndef PW_CORE_H5_H5WATCH_H
#define PW_CORE_H5_H5WATCH_H

#include <hdf5.h>

/* Installs the handlers for the rest of the process. They print which file was read and exit with 1
 * on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, and when reading has used 10 to 15 s of CPU time
 * without progress. Call it after MPI_Init, which installs handlers of its own. With
 * PROFWRAP_LOG=crash:1 crashes are not caught, for a debugger. Never call it in `profwrap run`,
 * whose signals are meant for the application. */
void pw_h5_watch_install(void);

/* Called by h5reader.c: before a file is opened, when its id is known, before each read, and when
 * it is closed. */
void pw_h5_watch_open(const char *path);
void pw_h5_watch_opened(hid_t file);
void pw_h5_watch_touch(hid_t file);
void pw_h5_watch_closed(hid_t file);

/* Called by h5vet.c for each chunk of the file that is being read: a large table takes longer than
 * the limit. */
void pw_h5_watch_progress(void);

#endif
