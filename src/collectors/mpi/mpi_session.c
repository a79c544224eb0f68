/* Opens and closes the probe's own MPI session; see mpi_session.h. */
#include "collectors/mpi/mpi_session.h"

#include <string.h>

#if MPI_VERSION >= 4

/* Functions that only libraries of MPI-4 have, so they are no helpers of mpi_real.h. */
static struct {
    int (*Session_init)(MPI_Info, MPI_Errhandler, MPI_Session *);
    int (*Session_finalize)(MPI_Session *);
    int (*Group_from_session_pset)(MPI_Session, const char *, MPI_Group *);
} mpi;

static MPI_Session session;
static MPI_Group all_ranks;
static bool is_open;

static bool take(void *slot, const char *symbol)
{
    void *found = pw_mpi_symbol(symbol);
    memcpy(slot, &found, sizeof(found));
    return found;
}

static bool take_functions(void)
{
    return take(&mpi.Session_init, "PMPI_Session_init") &&
           take(&mpi.Session_finalize, "PMPI_Session_finalize") &&
           take(&mpi.Group_from_session_pset, "PMPI_Group_from_session_pset");
}

bool pw_mpi_session_open(MPI_Group *world)
{
    if (is_open || !take_functions() ||
        mpi.Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS)
        return false;
    if (mpi.Group_from_session_pset(session, "mpi://WORLD", &all_ranks) != MPI_SUCCESS) {
        mpi.Session_finalize(&session);
        return false;
    }
    is_open = true;
    *world = all_ranks;
    return true;
}

void pw_mpi_session_close(void)
{
    if (!is_open)
        return;
    is_open = false;
    pw_pmpi.Group_free(&all_ranks);
    mpi.Session_finalize(&session);
}

#endif
