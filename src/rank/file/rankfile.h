/* One rank's HDF5 file while it is being written: tables, names, attributes. Written by the intake
 * and the tool halves of modules, by recovery, the import and the simulator. The file has the
 * name rank-NNNNN.h5.part until it is closed in order. Then it is renamed, so a file rank-NNNNN.h5
 * is always whole. Tool code, one thread. When a write fails, pw_rankfile_close() returns the
 * error. */
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

/* Creates DIR/rank-NNNNN.h5.part and its tables. `level` is the level of deflate. Returns 0;
 * -EEXIST when the rank's file exists or is being written; or another -errno. */
int pw_rankfile_create(const char *dir, const struct pw_identity *id, const char *command,
                       int level, struct pw_rankfile **out);

/* As pw_rankfile_create(), but adds rows only to `journal`: for a collector that took over from a
 * killed one. Returns NULL when memory is short. */
struct pw_rankfile *pw_rankfile_create_on_journal(struct pw_journal *journal);

/* From now on, pw_rankfile_append_measured() also adds its rows to `journal` (may be NULL). */
void pw_rankfile_use_journal(struct pw_rankfile *file, struct pw_journal *journal);

/* Appends a row. pw_rankfile_close() returns the first failure. */
void pw_rankfile_append(struct pw_rankfile *file, enum pw_table_id table, const void *row);

/* As pw_rankfile_append(), but the caller fills in the returned row before it calls another
 * function of this file. Watchers (pw_rankfile_watch()) are not called. Returns NULL when the file
 * does not take the row. */
void *pw_rankfile_add(struct pw_rankfile *file, enum pw_table_id table);

/* As pw_rankfile_append(), for a row that comes from no record, such as a sample or a clock
 * knot. */
void pw_rankfile_append_measured(struct pw_rankfile *file, enum pw_table_id table, const void *row);

/* Returns the row of a thread that waits for an operation of a PyTorch process group; its operation
 * is Wait, as for MPI_Wait. */
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

/* Appends a row of /clock. Ignores it when its local time is not after that of the last row. */
void pw_rankfile_append_knot(struct pw_rankfile *file, const struct pw_row_clock *knot);

/* A function that is called for each row that is appended to a table; each table has at most
 * one. */
typedef void pw_rankfile_watcher(void *context, const void *row);
void pw_rankfile_watch(struct pw_rankfile *file, enum pw_table_id table,
                       pw_rankfile_watcher *watcher, void *context);

/* Reserves the next row of /comms, which is written later. Returns its number, or -1 when there are
 * too many. */
int32_t pw_rankfile_new_comm(struct pw_rankfile *file);

/* Sets the contents of a reserved row of /comms. */
void pw_rankfile_set_comm(struct pw_rankfile *file, int32_t row, const struct pw_row_comms *comm);

/* Returns an upper bound of the size that the file would have if it were closed now. Rows that are
 * not written yet are counted uncompressed. */
int64_t pw_rankfile_bytes(const struct pw_rankfile *file);

int64_t pw_rankfile_rows(const struct pw_rankfile *file, enum pw_table_id table);

/* Appends a row of /overhead. */
void pw_rankfile_overhead(struct pw_rankfile *file, const char *name, double value,
                          const char *unit);

/* Returns the budget of names, stacks and communicators; it has no limit until one is set. */
struct pw_budget *pw_rankfile_borrow_budget(struct pw_rankfile *file);

/* Set a row of /strings, as a whole or in pieces; the row is created when it is new. Row 0 is "".
 * Rows above 2^20 and texts above 8192 bytes are refused. */
void pw_rankfile_text(struct pw_rankfile *file, uint32_t row, const char *text, size_t length);
void pw_rankfile_text_piece(struct pw_rankfile *file, const struct pw_text_piece *piece);

/* Replaces the text of a row of /strings. */
void pw_rankfile_retext(struct pw_rankfile *file, uint32_t row, const char *text);

/* Number of rows of /strings so far. */
uint32_t pw_rankfile_texts(const struct pw_rankfile *file);

/* Returns the text of a row of /strings, "" when there is none; valid until the file is closed. */
const char *pw_rankfile_borrow_text(const struct pw_rankfile *file, uint32_t row);

/* Sets a row of /stacks; the dataset is created when it has a row. */
void pw_rankfile_stack(struct pw_rankfile *file, uint32_t row, const char *text);

/* Counts events that were lost before they came here. Rows that the file refused are counted
 * separately. */
void pw_rankfile_count_dropped(struct pw_rankfile *file, int64_t events);

/* Returns the number of all events that were lost so far. */
int64_t pw_rankfile_dropped(const struct pw_rankfile *file);

/* Sets a root attribute; those of the identity are set by pw_rankfile_create(). */
void pw_rankfile_set_text(struct pw_rankfile *file, const char *name, const char *value);

/* Tells which thread of the tables is the program's main thread. */
void pw_rankfile_set_main_thread(struct pw_rankfile *file, int thread);

/* Marks the file as a snapshot: made while the run went on. */
void pw_rankfile_set_snapshot(struct pw_rankfile *file);

/* Returns the time at which the file was created, Unix time in ns. */
int64_t pw_rankfile_start_unix_ns(const struct pw_rankfile *file);

/* Sets start and end of the run, for files that are not made during it (simulations). */
void pw_rankfile_set_times(struct pw_rankfile *file, int64_t start_unix_ns, int64_t end_unix_ns);

/* Closes, syncs and renames the file; frees `file` in any case. Returns 0, or the first error since
 * the file was created; then the unfinished file keeps its .part name, or is removed when there is
 * a journal from which it can be made. */
int pw_rankfile_close(struct pw_rankfile *file, const struct pw_rankfile_end *end);

/* Closes and removes the unfinished file, because it will be made from the journal. */
void pw_rankfile_discard(struct pw_rankfile *file);

#endif
