/* What one parameter of an MPI function means. One row per kind:
 *
 *   K_KIND(n) (name, declaration, record before the call, record after the call, argument of the
 * call)
 *
 * `c` is the struct pw_mpi_call being filled. Used by mpi_wrap.c. Arguments are passed on
 * unchanged, except an ignored status whose contents the probe needs. */
#ifndef PW_MPI_KINDS_H
#define PW_MPI_KINDS_H

#include "collectors/mpi/mpi_kinds.def"

/* Column selectors: C_DECL(SCNT(count)) is "int count"; PASS is the argument as the application
 * gave it. */
#define PICK_0(z, a, b, c, d) z
#define PICK_1(z, a, b, c, d) a
#define PICK_2(z, a, b, c, d) b
#define PICK_3(z, a, b, c, d) c
#define PICK_4(z, a, b, c, d) d
#define UNPAREN(...) __VA_ARGS__
#define APPLY(M, row) APPLY_ROW(M, UNPAREN row)
#define APPLY_ROW(M, ...) M(__VA_ARGS__)
#define PASS(p) APPLY(PICK_0, K_##p)
#define C_DECL(p) APPLY(PICK_1, K_##p)
#define C_PRE(p) APPLY(PICK_2, K_##p)
#define C_POST(p) APPLY(PICK_3, K_##p)
#define C_USE(p) APPLY(PICK_4, K_##p)

/* EACH(M, SEP, a, b, c) is M(a) SEP() M(b) SEP() M(c); no MPI function takes more than 13
 * parameters. */
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
