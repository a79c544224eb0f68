! All families of operations through `use mpi`; test_capture.py compares what it
! says that it did with what was recorded.
program capture_usempi
  use mpi
  implicit none
  integer, parameter :: most = 64
  integer :: requests(6)
  integer :: made
  integer(MPI_ADDRESS_KIND) :: base
  integer :: win, file, message, inter
  integer :: strided, types(most)
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 6)
  integer :: me, n, right, left, ierr, provided, out, i, round, done, count, total
  integer :: collectives = 0
  integer :: a(200), b(3000), counts(most), displs(most), indices(6)
  double precision :: d(5) = 0
  logical :: flag
  character(len=4000) :: prefix, path

  include 'fortran_body.inc'
  include 'fortran_families.inc'
end program capture_usempi
