! All families of operations through `use mpi`; test_capture.py compares what it
! says that it did with what was recorded.
program capture_usempi
  use mpi
  implicit none
  integer, parameter :: most = 64
  include 'fortran_integer_handles.inc'
  include 'fortran_body.inc'
  include 'fortran_families.inc'
end program capture_usempi
