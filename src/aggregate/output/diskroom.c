/* posix_fallocate without its fallback, which writes; see diskroom.h. */
#include "aggregate/output/diskroom.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 1 << 18 }; /* also what HDF5 may take between two looks, for its own tables */

int pw_diskroom_reserve(struct pw_diskroom *room, uint64_t bytes)
{
    if (room->fd < 0 || bytes + STEP <= room->reserved)
        return 0;
    uint64_t want = (bytes + 2 * (uint64_t)STEP) / STEP * STEP;
    int err;
    do
        err = fallocate(room->fd, FALLOC_FL_KEEP_SIZE, (off_t)room->reserved,
                        (off_t)(want - room->reserved))
                  ? errno
                  : 0;
    while (err == EINTR);
    if (!err)
        room->reserved = want;
    return err == ENOSPC || err == EDQUOT || err == EFBIG ? -err : 0;
}

void pw_diskroom_fini(struct pw_diskroom *room)
{
    struct stat about;
    if (room->fd < 0)
        return;
    int cut =
        room->reserved && fstat(room->fd, &about) == 0 && ftruncate(room->fd, about.st_size) == 0;
    (void)cut; /* what is not given back goes with the file */
    close(room->fd);
    room->fd = -1;
}
