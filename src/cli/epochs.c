/* Prints what ended each epoch of a job whose launcher restarted its ranks; see conclude.h. */
#include "cli/conclude.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/h5/epochs.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "report/writing/words.h"

/* Whether the times of all epochs before the last are known. */
static int are_known(const struct pw_row_c_epoch *rows, size_t n, int last)
{
    for (size_t i = 0; i < n && rows[i].epoch < last; i++)
        if (rows[i].restart_ns < 0)
            return 0;
    return 1;
}

/* Reads the epochs. A launcher ends before the collectors of ranks that failed have closed their
 * files: without them the times are not known, so the files are waited for. */
static int read_epochs(const char *dir, int last, struct pw_row_c_epoch **rows, size_t *n)
{
    enum { TRIES = 20 };
    const struct timespec pause = {.tv_nsec = 100000000};
    int err = pw_epochs_read(dir, rows, n);
    for (int i = 0; i < TRIES && !err && !are_known(*rows, *n, last); i++) {
        free(*rows);
        nanosleep(&pause, NULL);
        err = pw_epochs_read(dir, rows, n);
    }
    return err;
}

void pw_conclude_epochs(const char *dir, int last)
{
    char end[200];
    struct pw_row_c_epoch *rows;
    size_t n;
    pw_h5_quiet();
    if (read_epochs(dir, last, &rows, &n))
        return;
    for (size_t i = 0; i < n && rows[i].epoch < last; i++) {
        pw_words_epoch_end(&rows[i], end, sizeof(end));
        if (rows[i].restart_ns < 0)
            pw_say("epoch %d %s", rows[i].epoch, end);
        else
            pw_say("epoch %d ran for %.1f s and %s; the restart took %.1f s", rows[i].epoch,
                   (double)rows[i].ran_ns / 1e9, end, (double)rows[i].restart_ns / 1e9);
    }
    free(rows);
}
