/* Prints what ended each epoch of a job whose launcher restarted its ranks; see conclude.h. */
#include "cli/conclude.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/h5/epochs.h"
#include "core/h5/h5types.h"
#include "core/log.h"
#include "report/writing/words.h"

void pw_conclude_epochs(const char *dir, int last)
{
    char end[200];
    struct pw_row_c_epoch *rows;
    size_t n;
    pw_h5_quiet();
    if (pw_epochs_read(dir, &rows, &n))
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
