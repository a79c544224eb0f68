/* One-sided operations and files; see mpi_classes.h. A window or file has an entry in the table of
 * communicators, which is found by its handle. A handle without an entry (invalid, or made before
 * recording) is never passed to MPI. */
#include <string.h>

#include "collectors/mpi/mpi_classes.h"

/* ---- windows ---- */

static void fill_rma(const struct pw_mpi_call *c, int rc, const struct pw_mpi_comm *window,
                     struct pw_record *record)
{
    record->comm.peer = window ? pw_mpi_world_rank(window, c->dest) : -1;
    if (rc == MPI_SUCCESS && c->dest != MPI_PROC_NULL)
        pw_mpi_one_sided_bytes(c, record);
}

void pw_mpi_after_RMA(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record record;
    pw_mpi_base_record(c, window, rc, &record);
    fill_rma(c, rc, window, &record);
    pw_mpi_write(c, &record);
}

void pw_mpi_after_IRMA(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record own;
    struct pw_record *record = pw_mpi_open_record(c, rc, window, pw_mpi_handles.comm_null, &own);
    fill_rma(c, rc, window, record);
    pw_mpi_close_record(c, record, &own);
}

void pw_mpi_after_WIN_FENCE(struct pw_mpi_call *c, int rc)
{
    struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record record;
    pw_mpi_base_record(c, window, rc, &record);
    record.comm.seq = window ? pw_mpi_comm_count(window) : 0;
    pw_mpi_write(c, &record);
}

/* A call on a window or file for which only the handle is recorded. */
void pw_mpi_after_KNOWN_HANDLE(struct pw_mpi_call *c, int rc)
{
    pw_mpi_record(c, pw_mpi_comm_known(c->comm), rc);
}

void pw_mpi_after_WIN_TARGET(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *window = pw_mpi_comm_known(c->comm);
    struct pw_record *record = pw_mpi_place(c, window, rc);
    if (!record)
        return;
    record->comm.peer = window ? pw_mpi_world_rank(window, c->dest) : -1;
    pw_mpi_commit(c, record);
}

void pw_mpi_after_NEWWIN(struct pw_mpi_call *c, int rc)
{
    MPI_Group group;
    pw_mpi_record(c, pw_mpi_call_comm(c, rc), rc);
    if (rc == MPI_SUCCESS && pw_pmpi.Win_get_group(c->made.win, &group) == MPI_SUCCESS)
        pw_mpi_group_add(c->thread, PW_MPI_WIN_KEY(c->made.win), group, "window");
}

/* ---- files ---- */

void pw_mpi_after_NEWFILE(struct pw_mpi_call *c, int rc)
{
    MPI_Group group;
    char name[256];
    pw_mpi_record(c, pw_mpi_call_comm(c, rc), rc);
    if (rc != MPI_SUCCESS || pw_pmpi.File_get_group(c->made.file, &group) != MPI_SUCCESS)
        return;
    pw_mpi_copy_text(c, name, sizeof(name));
    pw_mpi_group_add(c->thread, PW_MPI_FILE_KEY(c->made.file), group, name);
}

void pw_mpi_io_bytes(struct pw_record *record, int64_t bytes)
{
    if (strstr(pw_op_info(record->op)->name, "write"))
        record->comm.sent_bytes = bytes;
    else
        record->comm.recv_bytes = bytes;
}

void pw_mpi_after_IO(struct pw_mpi_call *c, int rc)
{
    struct pw_record record;
    pw_mpi_base_record(c, pw_mpi_comm_known(c->comm), rc, &record);
    if (rc == MPI_SUCCESS)
        pw_mpi_io_bytes(&record, pw_mpi_status_bytes(c->status));
    pw_mpi_write(c, &record);
}

void pw_mpi_after_IIO(struct pw_mpi_call *c, int rc)
{
    const struct pw_mpi_comm *file = pw_mpi_comm_known(c->comm);
    struct pw_record own;
    struct pw_record *record = pw_mpi_open_record(c, rc, file, pw_mpi_handles.comm_null, &own);
    pw_mpi_close_record(c, record, &own);
}
