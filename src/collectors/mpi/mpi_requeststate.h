/* The layout of the table of open requests, as far as it is the same for all MPI libraries: the
 * states of an entry, and the sizes of the table's parts. Included by mpi_request.h, and by
 * mpi_open.c, the tool code that reads the table from the program's memory. No header of an MPI
 * library may be included here: the tool half is compiled without one. */
#ifndef PW_MPI_REQUESTSTATE_H
#define PW_MPI_REQUESTSTATE_H

/* The state of a request, in one word, so that one comparison can test several flags. */
enum {
    PW_REQUEST_CLASS = 0xff,           /* enum pw_op_class */
    PW_REQUEST_PERSISTENT = 1 << 8,    /* it stays in the table after completion */
    PW_REQUEST_ACTIVE = 1 << 9,        /* a persistent request that was started */
    PW_REQUEST_MAKES_COMM = 1 << 10,   /* MPI_Comm_idup: completion makes a communicator */
    PW_REQUEST_NEEDS_STATUS = 1 << 11, /* the received bytes are known from the status only */
    PW_REQUEST_OPEN = 1 << 12,         /* row of the front: entered, not taken yet */
    PW_REQUEST_QUIET = 1 << 14,        /* begun while recording was paused */
    PW_REQUEST_HELD = 1 << 13,         /* row of the front: open, or taken and not freed yet */
    PW_REQUEST_TWO_PARTS = 1 << 15,    /* MPI_Isendrecv: completion writes two records */
    PW_REQUEST_UNUSED = 1 << 16,       /* entry of the hash table: it is in no bucket */
};

enum {
    PW_REQUEST_BYTES = 128,          /* of an entry */
    PW_REQUEST_FRONT = 1024,         /* rows of the front */
    PW_REQUEST_FIRST_BUCKETS = 1024, /* of the hash table: buckets of segment 0 */
    PW_REQUEST_SEGMENTS = 20,
};

#endif
