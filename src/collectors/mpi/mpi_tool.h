/* Collector mpi, tool half: rows of /events/comm, /comms, /comm_members and /clock. */
#ifndef PW_MPI_TOOL_H
#define PW_MPI_TOOL_H

#include "rank/collect/collector.h"

extern const struct pw_collector pw_collector_mpi;

#endif
