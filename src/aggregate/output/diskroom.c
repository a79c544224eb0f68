/* Reserves by fallocate(); see diskroom.h. */
#include "aggregate/output/diskroom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 1 << 18 }; /* bytes; also the reserve for HDF5's own tables between two checks */

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
    (void)cut; /* room that is not released is freed with the file */
    close(room->fd);
    room->fd = -1;
}

int pw_diskroom_make_file(const char *path, char *part, size_t size, struct pw_diskroom *room)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    snprintf(part, size, "%s.part-%016llx", path, (unsigned long long)random);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    *room = (struct pw_diskroom){.fd = fd};
    return fd < 0 ? -errno : pw_diskroom_reserve(room, 0);
}
