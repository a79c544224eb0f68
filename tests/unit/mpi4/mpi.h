/* An MPI-4.0 header to compile the rows of MPI-4.0 in core/mpi_functions.def against where the
 * installed MPI is older: the installed header and the prototypes, of types only, that the standard
 * adds. Nothing is ever linked or run against it. */
#ifndef PW_TEST_MPI4_H
#define PW_TEST_MPI4_H

#pragma GCC system_header
/* Open MPI 5 has functions of MPI-4.0, this one with another type. */
#define MPI_Pready_list installed_Pready_list
#define PMPI_Pready_list installed_PMPI_Pready_list
#include_next <mpi.h>
#undef MPI_Pready_list
#undef PMPI_Pready_list

#undef MPI_VERSION
#define MPI_VERSION 4

#if OMPI_MAJOR_VERSION < 5
typedef struct ompi_instance_t *MPI_Session;
#endif
int MPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session *);
int MPI_Session_finalize(MPI_Session *);
int MPI_Isendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int,
                  MPI_Comm, MPI_Request *);
int MPI_Isendrecv_replace(void *, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Request *);
int MPI_Psend_init(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info,
                   MPI_Request *);
int MPI_Precv_init(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info,
                   MPI_Request *);
int MPI_Pready(int, MPI_Request);
int MPI_Pready_range(int, int, MPI_Request);
int MPI_Pready_list(int, const int *, MPI_Request);
int MPI_Parrived(MPI_Request, int, int *);
int MPI_Comm_idup_with_info(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *);
int MPI_Comm_create_from_group(MPI_Group, const char *, MPI_Info, MPI_Errhandler, MPI_Comm *);
int MPI_Intercomm_create_from_groups(MPI_Group, int, MPI_Group, int, const char *, MPI_Info,
                                     MPI_Errhandler, MPI_Comm *);
int MPI_Barrier_init(MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Bcast_init(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Gather_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm,
                    MPI_Info, MPI_Request *);
int MPI_Gatherv_init(const void *, int, MPI_Datatype, void *, const int *, const int *,
                     MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Scatter_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm,
                     MPI_Info, MPI_Request *);
int MPI_Scatterv_init(const void *, const int *, const int *, MPI_Datatype, void *, int,
                      MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Allgather_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                       MPI_Info, MPI_Request *);
int MPI_Allgatherv_init(const void *, int, MPI_Datatype, void *, const int *, const int *,
                        MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Alltoall_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                      MPI_Info, MPI_Request *);
int MPI_Alltoallv_init(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
                       const int *, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Alltoallw_init(const void *, const int *, const int *, const MPI_Datatype *, void *,
                       const int *, const int *, const MPI_Datatype *, MPI_Comm, MPI_Info,
                       MPI_Request *);
int MPI_Reduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info,
                    MPI_Request *);
int MPI_Allreduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                       MPI_Request *);
int MPI_Reduce_scatter_init(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm,
                            MPI_Info, MPI_Request *);
int MPI_Reduce_scatter_block_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm,
                                  MPI_Info, MPI_Request *);
int MPI_Scan_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                  MPI_Request *);
int MPI_Exscan_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                    MPI_Request *);
int MPI_Neighbor_allgather_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype,
                                MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Neighbor_allgatherv_init(const void *, int, MPI_Datatype, void *, const int *, const int *,
                                 MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Neighbor_alltoall_init(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm,
                               MPI_Info, MPI_Request *);
int MPI_Neighbor_alltoallv_init(const void *, const int *, const int *, MPI_Datatype, void *,
                                const int *, const int *, MPI_Datatype, MPI_Comm, MPI_Info,
                                MPI_Request *);
int MPI_Neighbor_alltoallw_init(const void *, const int *, const MPI_Aint *, const MPI_Datatype *,
                                void *, const int *, const MPI_Aint *, const MPI_Datatype *,
                                MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Send_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Bsend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Ssend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Rsend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Recv_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int MPI_Sendrecv_c(const void *, MPI_Count, MPI_Datatype, int, int, void *, MPI_Count, MPI_Datatype,
                   int, int, MPI_Comm, MPI_Status *);
int MPI_Sendrecv_replace_c(void *, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm,
                           MPI_Status *);
int MPI_Isend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Ibsend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Issend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Irsend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Irecv_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Bcast_c(void *, MPI_Count, MPI_Datatype, int, MPI_Comm);
int MPI_Gather_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                 MPI_Comm);
int MPI_Gatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                  const MPI_Aint *, MPI_Datatype, int, MPI_Comm);
int MPI_Scatter_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                  MPI_Comm);
int MPI_Scatterv_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                   MPI_Count, MPI_Datatype, int, MPI_Comm);
int MPI_Allgather_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                    MPI_Comm);
int MPI_Allgatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                     const MPI_Aint *, MPI_Datatype, MPI_Comm);
int MPI_Alltoall_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                   MPI_Comm);
int MPI_Alltoallv_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                    const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
int MPI_Alltoallw_c(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, void *,
                    const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm);
int MPI_Reduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);
int MPI_Allreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_scatter_c(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_scatter_block_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Scan_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Exscan_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Ibcast_c(void *, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request *);
int MPI_Igather_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                  MPI_Comm, MPI_Request *);
int MPI_Igatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                   const MPI_Aint *, MPI_Datatype, int, MPI_Comm, MPI_Request *);
int MPI_Iscatter_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                   MPI_Comm, MPI_Request *);
int MPI_Iscatterv_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                    MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request *);
int MPI_Iallgather_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                     MPI_Comm, MPI_Request *);
int MPI_Iallgatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                      const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *);
int MPI_Ialltoall_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                    MPI_Comm, MPI_Request *);
int MPI_Ialltoallv_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                     const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *);
int MPI_Ialltoallw_c(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
                     void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *, MPI_Comm,
                     MPI_Request *);
int MPI_Ireduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm,
                  MPI_Request *);
int MPI_Iallreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
                     MPI_Request *);
int MPI_Ireduce_scatter_c(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op, MPI_Comm,
                          MPI_Request *);
int MPI_Ireduce_scatter_block_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
                                MPI_Request *);
int MPI_Iscan_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
int MPI_Iexscan_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
int MPI_Send_init_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Bsend_init_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Ssend_init_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Rsend_init_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Recv_init_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Mrecv_c(void *, MPI_Count, MPI_Datatype, MPI_Message *, MPI_Status *);
int MPI_Imrecv_c(void *, MPI_Count, MPI_Datatype, MPI_Message *, MPI_Request *);
int MPI_Neighbor_allgather_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                             MPI_Comm);
int MPI_Neighbor_allgatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                              const MPI_Aint *, MPI_Datatype, MPI_Comm);
int MPI_Neighbor_alltoall_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                            MPI_Comm);
int MPI_Neighbor_alltoallv_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
                             void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm);
int MPI_Neighbor_alltoallw_c(const void *, const MPI_Count *, const MPI_Aint *,
                             const MPI_Datatype *, void *, const MPI_Count *, const MPI_Aint *,
                             const MPI_Datatype *, MPI_Comm);
int MPI_Ineighbor_allgather_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
                              MPI_Datatype, MPI_Comm, MPI_Request *);
int MPI_Ineighbor_allgatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                               const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Request *);
int MPI_Ineighbor_alltoall_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                             MPI_Comm, MPI_Request *);
int MPI_Ineighbor_alltoallv_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
                              void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm,
                              MPI_Request *);
int MPI_Ineighbor_alltoallw_c(const void *, const MPI_Count *, const MPI_Aint *,
                              const MPI_Datatype *, void *, const MPI_Count *, const MPI_Aint *,
                              const MPI_Datatype *, MPI_Comm, MPI_Request *);
int MPI_Put_c(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
              MPI_Win);
int MPI_Get_c(void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win);
int MPI_Accumulate_c(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
                     MPI_Op, MPI_Win);
int MPI_Get_accumulate_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                         int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Win);
int MPI_Rput_c(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
               MPI_Win, MPI_Request *);
int MPI_Rget_c(void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win,
               MPI_Request *);
int MPI_Raccumulate_c(const void *, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype,
                      MPI_Op, MPI_Win, MPI_Request *);
int MPI_Rget_accumulate_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                          int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Win, MPI_Request *);
int MPI_Win_create_c(void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win *);
int MPI_Win_allocate_c(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *, MPI_Win *);
int MPI_Win_allocate_shared_c(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *, MPI_Win *);
int MPI_File_read_c(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_read_all_c(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_read_shared_c(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_read_ordered_c(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_read_at_c(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_read_at_all_c(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_iread_c(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_iread_all_c(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_iread_shared_c(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_iread_at_c(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_iread_at_all_c(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_read_all_begin_c(MPI_File, void *, MPI_Count, MPI_Datatype);
int MPI_File_read_ordered_begin_c(MPI_File, void *, MPI_Count, MPI_Datatype);
int MPI_File_read_at_all_begin_c(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype);
int MPI_File_write_c(MPI_File, const void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_write_all_c(MPI_File, const void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_write_shared_c(MPI_File, const void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_write_ordered_c(MPI_File, const void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_write_at_c(MPI_File, MPI_Offset, const void *, MPI_Count, MPI_Datatype, MPI_Status *);
int MPI_File_write_at_all_c(MPI_File, MPI_Offset, const void *, MPI_Count, MPI_Datatype,
                            MPI_Status *);
int MPI_File_iwrite_c(MPI_File, const void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_iwrite_all_c(MPI_File, const void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_iwrite_shared_c(MPI_File, const void *, MPI_Count, MPI_Datatype, MPI_Request *);
int MPI_File_iwrite_at_c(MPI_File, MPI_Offset, const void *, MPI_Count, MPI_Datatype,
                         MPI_Request *);
int MPI_File_iwrite_at_all_c(MPI_File, MPI_Offset, const void *, MPI_Count, MPI_Datatype,
                             MPI_Request *);
int MPI_File_write_all_begin_c(MPI_File, const void *, MPI_Count, MPI_Datatype);
int MPI_File_write_ordered_begin_c(MPI_File, const void *, MPI_Count, MPI_Datatype);
int MPI_File_write_at_all_begin_c(MPI_File, MPI_Offset, const void *, MPI_Count, MPI_Datatype);
int MPI_Isendrecv_c(const void *, MPI_Count, MPI_Datatype, int, int, void *, MPI_Count,
                    MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Isendrecv_replace_c(void *, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm,
                            MPI_Request *);
int MPI_Bcast_init_c(void *, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Gather_init_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                      MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Gatherv_init_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                       const MPI_Aint *, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Scatter_init_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int,
                       MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Scatterv_init_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                        MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Allgather_init_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                         MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Allgatherv_init_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                          const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Alltoall_init_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype,
                        MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Alltoallv_init_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype, void *,
                         const MPI_Count *, const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Info,
                         MPI_Request *);
int MPI_Alltoallw_init_c(const void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
                         void *, const MPI_Count *, const MPI_Aint *, const MPI_Datatype *,
                         MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Reduce_init_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm,
                      MPI_Info, MPI_Request *);
int MPI_Allreduce_init_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                         MPI_Request *);
int MPI_Reduce_scatter_init_c(const void *, void *, const MPI_Count *, MPI_Datatype, MPI_Op,
                              MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Reduce_scatter_block_init_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
                                    MPI_Info, MPI_Request *);
int MPI_Scan_init_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                    MPI_Request *);
int MPI_Exscan_init_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                      MPI_Request *);
int MPI_Neighbor_allgather_init_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
                                  MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Neighbor_allgatherv_init_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count *,
                                   const MPI_Aint *, MPI_Datatype, MPI_Comm, MPI_Info,
                                   MPI_Request *);
int MPI_Neighbor_alltoall_init_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count,
                                 MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Neighbor_alltoallv_init_c(const void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
                                  void *, const MPI_Count *, const MPI_Aint *, MPI_Datatype,
                                  MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Neighbor_alltoallw_init_c(const void *, const MPI_Count *, const MPI_Aint *,
                                  const MPI_Datatype *, void *, const MPI_Count *, const MPI_Aint *,
                                  const MPI_Datatype *, MPI_Comm, MPI_Info, MPI_Request *);

#endif
