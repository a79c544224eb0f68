! All families of operations through `use mpi_f08`; test_capture.py compares what it
! says that it did with what was recorded.
program capture_usempi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr
  use mpi_f08
  implicit none
  integer, parameter :: most = 64
  type(MPI_Request) :: requests(6)
  type(MPI_Comm) :: made
  type(c_ptr) :: base
  type(MPI_Win) :: win
  type(MPI_File) :: file
  type(MPI_Message) :: message
  type(MPI_Comm) :: inter
  type(MPI_Datatype) :: strided, types(most)
  type(MPI_Status) :: status, statuses(6)
  include 'fortran_body.inc'
  include 'fortran_families.inc'
end program capture_usempi_f08
