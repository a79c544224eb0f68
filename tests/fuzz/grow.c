/* See grow.h. */
#include "grow.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Pieces of 1 to 4096 bytes, by the input: they end in the middle of anything. */
static size_t next_piece(const struct grow *grow)
{
    size_t n = 1 + (grow->data[grow->at] * 2654435761u >> 4 & 4095);
    return n < grow->size - grow->at ? n : grow->size - grow->at;
}

static void *write_pieces(void *context)
{
    struct grow *grow = context;
    int fd = open(grow->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (size_t n; fd >= 0 && grow->at < grow->size; grow->at += n) {
        n = next_piece(grow);
        if (pwrite(fd, grow->data + grow->at, n, (off_t)grow->at) != (ssize_t)n)
            abort();
        sched_yield();
    }
    if (fd < 0)
        abort();
    close(fd);
    grow->done = 1;
    return NULL;
}

void grow_start(struct grow *grow)
{
    grow->done = 0;
    if (pthread_create(&grow->thread, NULL, write_pieces, grow))
        abort();
}

void grow_finish(struct grow *grow)
{
    pthread_join(grow->thread, NULL);
}
