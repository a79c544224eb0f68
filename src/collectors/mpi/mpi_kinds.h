/* What one parameter of an MPI function means. One row per kind:
 *
 *   K_KIND(n) (name, C declaration, Fortran declaration,
 *              record before the C call, before the Fortran call,
 *              record after the C call, after the Fortran call,
 *              argument of the C call, argument of the Fortran call,
 *              (hidden Fortran length: declaration), (argument))
 *
 * `c` is the struct pw_mpi_call being filled. Fortran arguments are passed through untouched but for
 * an ignored status whose contents we need; handles are converted only for what is recorded. */
#ifndef PW_MPI_KINDS_H
#define PW_MPI_KINDS_H

#define IN_INT const MPI_Fint
#define SAME(n) n, n, (), ()

/* clang-format off */
#define K_SBUF(n)   (n, const void *n, void *n,   c.sbuf = n;, c.sbuf = pw_mpi_f_buffer(n);, , , SAME(n))
#define K_RBUF(n)   (n, void *n, void *n,         c.rbuf = n;, c.rbuf = pw_mpi_f_buffer(n);, , , SAME(n))
#define K_SCNT(n)   (n, int n, IN_INT *n,         c.scount = n;, c.scount = *n;, , , SAME(n))
#define K_RCNT(n)   (n, int n, IN_INT *n,         c.rcount = n;, c.rcount = *n;, , , SAME(n))
#define K_SCNTV(n)  (n, const int n[], IN_INT *n, c.scounts = n;, c.scounts = n;, , , SAME(n))
#define K_RCNTV(n)  (n, const int n[], IN_INT *n, c.rcounts = n;, c.rcounts = n;, , , SAME(n))
#define K_STYPE(n)  (n, MPI_Datatype n, IN_INT *n, c.stype = n;, c.stype = pw_pmpi.Type_f2c(*n);, , , SAME(n))
#define K_RTYPE(n)  (n, MPI_Datatype n, IN_INT *n, c.rtype = n;, c.rtype = pw_pmpi.Type_f2c(*n);, , , SAME(n))
#define K_STYPEV(n) (n, const MPI_Datatype n[], IN_INT *n, c.stypes = n;, c.stypes_f = n;, , , SAME(n))
#define K_RTYPEV(n) (n, const MPI_Datatype n[], IN_INT *n, c.rtypes = n;, c.rtypes_f = n;, , , SAME(n))
#define K_DEST(n)   (n, int n, IN_INT *n,         c.dest = n;, c.dest = *n;, , , SAME(n))
#define K_SRC(n)    (n, int n, IN_INT *n,         c.src = n;, c.src = *n;, , , SAME(n))
#define K_ROOT(n)   (n, int n, IN_INT *n,         c.root = n;, c.root = *n;, , , SAME(n))
#define K_STAG(n)   (n, int n, IN_INT *n,         c.stag = n;, c.stag = *n;, , , SAME(n))
#define K_RTAG(n)   (n, int n, IN_INT *n,         c.rtag = n;, c.rtag = *n;, , , SAME(n))
#define K_COMM(n)   (n, MPI_Comm n, IN_INT *n,    c.comm = n;, c.comm = pw_pmpi.Comm_f2c(*n);, , , SAME(n))
#define K_COMM2(n)  (n, MPI_Comm n, IN_INT *n,    , , , , SAME(n))
#define K_COMM_IO(n)  (n, MPI_Comm *n, MPI_Fint *n, c.comm = *n;, c.comm = pw_pmpi.Comm_f2c(*n);, , , SAME(n))
#define K_COMM_OUT(n) (n, MPI_Comm *n, MPI_Fint *n, c.newcomm_at = n;, c.newcomm_f = n;, , , SAME(n))
#define K_TYPE_IO(n)  (n, MPI_Datatype *n, MPI_Fint *n, c.stype = *n;, c.stype = pw_pmpi.Type_f2c(*n);, , , SAME(n))
#define K_REQ_OUT(n)  (n, MPI_Request *n, MPI_Fint *n, , , c.request = *n;, c.request = pw_pmpi.Request_f2c(*n);, SAME(n))
#define K_REQ_IO(n)   (n, MPI_Request *n, MPI_Fint *n, pw_mpi_save_requests(&c, 1, n);, pw_mpi_save_requests_f(&c, 1, n);, , , SAME(n))
#define K_LEN(n)    (n, int n, IN_INT *n,         c.nrequests = n;, c.nrequests = *n;, , , SAME(n))
#define K_REQS(n)   (n, MPI_Request n[], MPI_Fint *n, pw_mpi_save_requests(&c, c.nrequests, n);, pw_mpi_save_requests_f(&c, c.nrequests, n);, , , SAME(n))
#define K_STAT(n)   (n, MPI_Status *n, MPI_Fint *n, c.status = pw_mpi_status(n, &own);, c.status_f = pw_mpi_status_f(n, own_f);, , pw_mpi_read_status_f(&c, &own);, c.status, c.status_f, (), ())
#define K_STATS(n)  (n, MPI_Status n[], MPI_Fint *n, c.status = pw_mpi_statuses(&c, n);, c.status_f = pw_mpi_statuses_f(&c, n);, , pw_mpi_read_statuses_f(&c);, c.status, c.status_f, (), ())
#define K_FLAG(n)   (n, int *n, MPI_Fint *n,      , , , , SAME(n))
#define K_OUTCOUNT(n) (n, int *n, MPI_Fint *n,    , , c.outcount = *n;, c.outcount = *n;, SAME(n))
#define K_INDICES(n) (n, int n[], MPI_Fint *n,    , , c.indices = n;, c.indices = n;, SAME(n))
#define K_INT(n)    (n, int n, IN_INT *n,         , , , , SAME(n))
#define K_INTP(n)   (n, int *n, MPI_Fint *n,      , , , , SAME(n))
#define K_INTV(n)   (n, const int n[], IN_INT *n, , , , , SAME(n))
#define K_LOGICAL(n)  (n, int n, IN_INT *n,       , , , , SAME(n))
#define K_LOGICALV(n) (n, const int n[], IN_INT *n, , , , , SAME(n))
#define K_OPER(n)   (n, MPI_Op n, IN_INT *n,      , , , , SAME(n))
#define K_INFO(n)   (n, MPI_Info n, IN_INT *n,    , , , , SAME(n))
#define K_GROUP(n)  (n, MPI_Group n, IN_INT *n,   , , , , SAME(n))
#define K_STR(n)    (n, const char *n, const char *n, c.text = n;, c.text = n; c.text_size = (int)n##_len;, , , n, n, (, size_t n##_len), (, n##_len))
/* clang-format on */

/* Column selectors: C_DECL(SCNT(count)) is "int count"; PASS is the argument as the application gave it. */
#define PICK_0(z, a, b, c, d, e, f, g, h, i, j) z
#define PICK_1(z, a, b, c, d, e, f, g, h, i, j) a
#define PICK_2(z, a, b, c, d, e, f, g, h, i, j) b
#define PICK_3(z, a, b, c, d, e, f, g, h, i, j) c
#define PICK_4(z, a, b, c, d, e, f, g, h, i, j) d
#define PICK_5(z, a, b, c, d, e, f, g, h, i, j) e
#define PICK_6(z, a, b, c, d, e, f, g, h, i, j) f
#define PICK_7(z, a, b, c, d, e, f, g, h, i, j) g
#define PICK_8(z, a, b, c, d, e, f, g, h, i, j) h
#define PICK_9(z, a, b, c, d, e, f, g, h, i, j) UNPAREN i
#define PICK_10(z, a, b, c, d, e, f, g, h, i, j) UNPAREN j
#define UNPAREN(...) __VA_ARGS__
#define APPLY(M, row) APPLY_ROW(M, UNPAREN row)
#define APPLY_ROW(M, ...) M(__VA_ARGS__)
#define PASS(p) APPLY(PICK_0, K_##p)
#define C_DECL(p) APPLY(PICK_1, K_##p)
#define F_DECL(p) APPLY(PICK_2, K_##p)
#define C_PRE(p) APPLY(PICK_3, K_##p)
#define F_PRE(p) APPLY(PICK_4, K_##p)
#define C_POST(p) APPLY(PICK_5, K_##p)
#define F_POST(p) APPLY(PICK_6, K_##p)
#define C_USE(p) APPLY(PICK_7, K_##p)
#define F_USE(p) APPLY(PICK_8, K_##p)
#define LEN_DECL(p) APPLY(PICK_9, K_##p)
#define LEN_USE(p) APPLY(PICK_10, K_##p)

/* EACH(M, SEP, a, b, c) is M(a) SEP() M(b) SEP() M(c); no MPI function takes more than 13 parameters. */
#define EACH_1(M, S, a) M(a)
#define EACH_2(M, S, a, ...) M(a) S() EACH_1(M, S, __VA_ARGS__)
#define EACH_3(M, S, a, ...) M(a) S() EACH_2(M, S, __VA_ARGS__)
#define EACH_4(M, S, a, ...) M(a) S() EACH_3(M, S, __VA_ARGS__)
#define EACH_5(M, S, a, ...) M(a) S() EACH_4(M, S, __VA_ARGS__)
#define EACH_6(M, S, a, ...) M(a) S() EACH_5(M, S, __VA_ARGS__)
#define EACH_7(M, S, a, ...) M(a) S() EACH_6(M, S, __VA_ARGS__)
#define EACH_8(M, S, a, ...) M(a) S() EACH_7(M, S, __VA_ARGS__)
#define EACH_9(M, S, a, ...) M(a) S() EACH_8(M, S, __VA_ARGS__)
#define EACH_10(M, S, a, ...) M(a) S() EACH_9(M, S, __VA_ARGS__)
#define EACH_11(M, S, a, ...) M(a) S() EACH_10(M, S, __VA_ARGS__)
#define EACH_12(M, S, a, ...) M(a) S() EACH_11(M, S, __VA_ARGS__)
#define EACH_13(M, S, a, ...) M(a) S() EACH_12(M, S, __VA_ARGS__)
#define EACH_N(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, N, ...) EACH_##N
#define EACH_PICK(...) EACH_N(__VA_ARGS__, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define EACH(M, S, ...) EACH_PICK(__VA_ARGS__)(M, S, __VA_ARGS__)
#define COMMA() ,
#define NONE()

#endif
