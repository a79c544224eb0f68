/* One rank's HDF5 file while it is being written: tables, names, attributes. Written by the intake
 * and the tool halves of collectors, by recovery, the import and the simulator. It is built as
 * NAME.part and renamed when it is closed in order, so that a file rank-NNNNN.h5 is whole. Tool
 * code, one thread; a write that fails is remembered and returned at the close. */
#ifndef PW_RANK_FILE_RANKFILE_H
#define PW_RANK_FILE_RANKFILE_H

#include <stdint.h>

#include "core/ops.h"
#include "core/tables.h"
#include "rank/file/texts.h"
#include "rank/journal/journal.h"
#include "rank/run/identity.h"

struct pw_rankfile;

/* How the program ended, for the root attributes. */
struct pw_rankfile_end {
    int exit_code;   /* -1 when a signal ended it */
    int exit_signal; /* 0 when it exited */
    int complete;    /* 1 closed in order, 2 recovered */
    int64_t pid;
};

/* Creates DIR/rank-NNNNN.h5.part and its tables. `level` is deflate's. 0; -EEXIST when the rank's
 * file is there already, or being written; -errno otherwise. */
int pw_rankfile_create(const char *dir, const struct pw_identity *id, const char *command,
                       int level, struct pw_rankfile **out);

/* One that only adds to `journal`, for a collector that took over from one that was killed. NULL
 * when memory is short. */
struct pw_rankfile *pw_rankfile_create_on_journal(struct pw_journal *journal);

/* Rows that are measured beside the records go to `journal` (may be NULL), too. */
void pw_rankfile_use_journal(struct pw_rankfile *file, struct pw_journal *journal);

/* Appends a row; a failure is remembered and said by pw_rankfile_close(). */
void pw_rankfile_append(struct pw_rankfile *file, enum pw_table_id table, const void *row);

/* The same for a row that no record makes: a sample, a clock probe's knot. */
void pw_rankfile_append_measured(struct pw_rankfile *file, enum pw_table_id table, const void *row);

/* The row of a thread that waits for an operation of a PyTorch process group: a call of MPI_Wait.
 */
static inline struct pw_row_comm_event pw_gloo_wait_row(int64_t start, int64_t end, uint16_t thread)
{
    return (struct pw_row_comm_event){
        .start = start,
        .end = end,
        .op = PW_OP_Wait,
        .source = PW_SOURCE_GLOO,
        .comm = -1,
        .seq = -1,
        .sent_bytes = -1,
        .recv_bytes = -1,
        .peer = -1,
        .thread = thread,
        .inside_ns = end - start,
    };
}

/* A row of /clock. Local times must rise: one that is not after the last is left out. */
void pw_rankfile_append_knot(struct pw_rankfile *file, const struct pw_row_clock *knot);

/* Who wants to know of the rows of a table as they are appended; one for each table. */
typedef void pw_rankfile_watcher(void *context, const void *row);
void pw_rankfile_watch(struct pw_rankfile *file, enum pw_table_id table,
                       pw_rankfile_watcher *watcher, void *context);

/* Communicators are known by their rows of /comms before these can be written. The next row, or -1:
 * there are too many. */
int32_t pw_rankfile_new_comm(struct pw_rankfile *file);

/* What is to be in such a row. */
void pw_rankfile_set_comm(struct pw_rankfile *file, int32_t row, const struct pw_row_comms *comm);

/* Bytes of the file if it were closed now, at most: rows that are not written yet are counted as
 * they are in memory. */
int64_t pw_rankfile_bytes(const struct pw_rankfile *file);

int64_t pw_rankfile_rows(const struct pw_rankfile *file, enum pw_table_id table);

/* One row of /overhead. */
void pw_rankfile_overhead(struct pw_rankfile *file, const char *name, double value,
                          const char *unit);

/* What names, stacks and communicators may take; without a limit until one is set. */
struct pw_budget *pw_rankfile_borrow_budget(struct pw_rankfile *file);

/* Row 0 of /strings is ""; rows are made as they are named, whole or in pieces. Rows past 2^20 and
 * texts past 8192 bytes are refused. */
void pw_rankfile_text(struct pw_rankfile *file, uint32_t row, const char *text, size_t length);
void pw_rankfile_text_piece(struct pw_rankfile *file, const struct pw_text_piece *piece);

/* Another text for a row of /strings that has one. */
void pw_rankfile_retext(struct pw_rankfile *file, uint32_t row, const char *text);

/* Number of rows of /strings so far. */
uint32_t pw_rankfile_texts(const struct pw_rankfile *file);

/* Row of /strings, "" when there is none; the file's until it is closed. */
const char *pw_rankfile_borrow_text(const struct pw_rankfile *file, uint32_t row);

/* Row of /stacks, which is there once it has a row. */
void pw_rankfile_stack(struct pw_rankfile *file, uint32_t row, const char *text);

/* Events lost on the way here, besides those that the file itself refused. */
void pw_rankfile_count_dropped(struct pw_rankfile *file, int64_t events);

/* All that were lost so far. */
int64_t pw_rankfile_dropped(const struct pw_rankfile *file);

/* A root attribute besides those of the identity. */
void pw_rankfile_set_text(struct pw_rankfile *file, const char *name, const char *value);

/* Says that it was made while the run went on. */
void pw_rankfile_set_snapshot(struct pw_rankfile *file);

/* When the file was created, Unix time. */
int64_t pw_rankfile_start_unix_ns(const struct pw_rankfile *file);

/* Says when the run was, for files that are not made while it goes on (simulations). */
void pw_rankfile_set_times(struct pw_rankfile *file, int64_t start_unix_ns, int64_t end_unix_ns);

/* Closes, syncs and renames the file; frees `file` in any case. 0, or the first error met since it
 * was created; then the unfinished file stays under its .part name, or goes when there is a journal
 * to make it from. */
int pw_rankfile_close(struct pw_rankfile *file, const struct pw_rankfile_end *end);

/* Closes and removes the unfinished file, which is to be made from the journal. */
void pw_rankfile_discard(struct pw_rankfile *file);

#endif
