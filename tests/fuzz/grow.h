/* A file that is written while it is read. */
#ifndef PW_FUZZ_GROW_H
#define PW_FUZZ_GROW_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct grow {
    const char *path;
    const uint8_t *data;
    size_t size, at; /* `at`: where writing goes on */
    pthread_t thread;
    _Atomic int done;
};

/* Writes data[at, size) over the file from there on, piece by piece, in a thread of its own. */
void grow_start(struct grow *grow);

/* Waits until all is written. */
void grow_finish(struct grow *grow);

#endif
