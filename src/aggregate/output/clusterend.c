/* Closes and checks cluster.h5; see clusterend.h. */
#include "aggregate/output/clusterend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/h5/h5contents.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"
#include "core/safefile.h"

/* Tables with more rows are checked by all processes. */
enum { MOST_OF_ONE = 1024 };

/* Appends a table of contents, for readers without HDF5, to the closed file. */
static void append_contents(const struct pw_clusterfile *file, struct pw_h5_draft *draft)
{
    const int fd = open(file->part, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    pw_h5_draft_append(draft, fd);
    if (fd >= 0)
        close(fd);
}

int pw_clusterend_close(struct pw_clusterfile *file)
{
    struct pw_h5_draft draft = {.kind = PW_H5_CLUSTER};
    const int is_listed = !file->error && !file->is_large;
    if (is_listed)
        pw_h5_draft_begin(&draft, file->file);
    for (int i = PW_RANK_TABLE_COUNT; i < PW_TABLE_COUNT; i++) {
        if (is_listed && file->places[i].rows)
            pw_h5_draft_add(&draft, &file->places[i]);
        pw_h5_place_fini(&file->places[i]);
    }
    const int err = H5Fclose(file->file) < 0 ? -EIO : 0;
    pw_diskroom_fini(&file->room);
    if (is_listed && !err)
        append_contents(file, &draft);
    else
        pw_h5_draft_append(&draft, -1);
    return err;
}

/* Whether this process checks the table, and which of `*shares` parts of its chunks: a small table
 * is checked by one process. */
static int has_share(const struct pw_clusterfile *written, int table, int *share, int *shares)
{
    const int is_shared = written->rows[table] > MOST_OF_ONE;
    MPI_Comm_size(written->comm, shares);
    *share = (written->process + table) % *shares;
    *shares = is_shared ? *shares : 1;
    return *share == 0 || is_shared;
}

/* Unpacks the tables of this process in a file that has contents. */
static int check_places(const struct pw_clusterfile *written, const struct pw_h5_contents *contents,
                        int fd)
{
    int err = 0, share, shares;
    for (int table = PW_RANK_TABLE_COUNT; table < PW_TABLE_COUNT && !err; table++) {
        struct pw_h5_place place;
        pw_h5_contents_place(contents, table, &place);
        if (place.rows != written->rows[table])
            err = -EIO;
        else if (has_share(written, table, &share, &shares) && share == 0)
            err = pw_h5_place_check(fd, &place);
    }
    return err;
}

static int check_by_hdf5(const struct pw_clusterfile *written)
{
    hid_t file;
    int err = pw_h5_open(written->part, &file), share, shares;
    if (err)
        return err;
    err = pw_format_check(file, PW_FORMAT_CLUSTER);
    for (int table = PW_RANK_TABLE_COUNT; table < PW_TABLE_COUNT && !err; table++)
        if (has_share(written, table, &share, &shares))
            err =
                pw_h5_check_table(file, table, written->rows[table], (size_t)share, (size_t)shares);
    pw_h5_close(file);
    return err;
}

int pw_clusterend_check(const struct pw_clusterfile *written)
{
    struct pw_h5_contents *contents;
    const int fd = pw_open_regular(written->part, O_NOFOLLOW);
    int err = fd < 0 ? fd : pw_h5_contents_read(fd, &contents);
    if (!err) {
        err = check_places(written, contents, fd);
        pw_h5_contents_free(contents);
    } else if (err == -ENOENT) {
        err = check_by_hdf5(written);
    }
    if (fd >= 0)
        close(fd);
    return err && err != -ENOMEM ? -EIO : err;
}

int pw_clusterend_publish(const struct pw_clusterfile *file)
{
    const int fd = open(file->part, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    const int err = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return err ? err : rename(file->part, file->path) ? -errno : 0;
}
