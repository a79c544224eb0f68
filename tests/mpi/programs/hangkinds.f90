! A job in Fortran that hangs: ranks other than 2 make the call that the first argument names, and rank 2 sleeps.
! hangkinds.py says what the page of the hang must say.
program hangkinds
   use mpi
   implicit none
   integer :: ierr, rank, ranks, window, child, file, done, i
   integer :: requests(2), statuses(MPI_STATUS_SIZE, 2)
   integer :: values(64), others(64)
   integer(kind=MPI_ADDRESS_KIND) :: bytes = 256
   logical :: flag
   character(len=32) :: fault

   call get_command_argument(1, fault)
   call MPI_Init(ierr)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
   if (fault == 'fence') call MPI_Win_create(values, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
   do while (rank == 2)
      call sleep(100)
   end do
   select case (fault)
   case ('allreduce')
      call MPI_Allreduce(values, others, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
   case ('in place')
      call MPI_Allreduce(MPI_IN_PLACE, others, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
   case ('bcast')
      call MPI_Bcast(values, 1, MPI_INTEGER, 2, MPI_COMM_WORLD, ierr)
   case ('gather')
      call MPI_Gather(values, 1, MPI_INTEGER, others, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
   case ('alltoall')
      call MPI_Alltoall(values, 1, MPI_INTEGER, others, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
   case ('ibarrier')
      call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierr)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierr)
   case ('split')
      call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, child, ierr)
   case ('open')
      call MPI_File_open(MPI_COMM_WORLD, 'file', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
   case ('fence')
      call MPI_Win_fence(0, window, ierr)
   case ('recv')
      call MPI_Recv(values, 1, MPI_INTEGER, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
   case ('ssend')
      call MPI_Ssend(values, 1, MPI_INTEGER, 2, 7, MPI_COMM_WORLD, ierr)
   case ('probe')
      call MPI_Probe(2, 7, MPI_COMM_WORLD, statuses(:, 1), ierr)
   case ('waitall')
      do i = 1, 2
         call MPI_Irecv(values(i), 1, MPI_INTEGER, 2, 6 + i, MPI_COMM_WORLD, requests(i), ierr)
      end do
      call MPI_Waitall(2, requests, statuses, ierr)
   case ('waitany')
      call MPI_Irecv(values, 1, MPI_INTEGER, 2, 7, MPI_COMM_WORLD, requests(1), ierr)
      call MPI_Irecv(others, 1, MPI_INTEGER, 2, 8, MPI_COMM_WORLD, requests(2), ierr)
      call MPI_Waitany(2, requests, done, MPI_STATUS_IGNORE, ierr)
   case ('test')
      call MPI_Irecv(values, 1, MPI_INTEGER, 2, 7, MPI_COMM_WORLD, requests(1), ierr)
      flag = .false.
      do while (.not. flag)
         call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierr)
      end do
   case ('iprobe')
      flag = .false.
      do while (.not. flag)
         call MPI_Iprobe(2, 7, MPI_COMM_WORLD, flag, statuses(:, 1), ierr)
      end do
   end select
   call MPI_Barrier(MPI_COMM_WORLD, ierr)
   call MPI_Finalize(ierr)
end program hangkinds
