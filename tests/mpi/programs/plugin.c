/* What `processes dlclose` loads and unloads again. */
#include <mpi.h>
#include <profwrap.h>

int plugin_work(void);
int plugin_work(void)
{
    int one = 1, sum = 0;
    profwrap_range_push("in a plugin");
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    profwrap_range_pop();
    return sum == 1 ? 0 : 1;
}
