"""A second witness of what an application called: a library that counts the calls of every function
that profwrap wraps, without knowing any of their prototypes. x86-64 with ELF only.

Preloaded before the probe, each of its symbols adds 1 to a counter in a shared mapping of a file
and jumps to the next definition of the symbol: registers, stack and return address untouched.
"""

import os
import re
import struct
import subprocess

FOLDER = "PROFWRAP_COUNT_DIR"

C_PART = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern const char *const counted_names[];
extern void *counted_real[];
extern long *counted_base;
extern const int counted_size;

__attribute__((constructor)) static void begin(void)
{
    char path[4096];
    const char *folder = getenv("PROFWRAP_COUNT_DIR"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = rank ? rank : getenv("PMI_RANK");
    size_t bytes = sizeof(long) * (size_t)counted_size;
    for (int i = 0; i < counted_size; i++)
        counted_real[i] = dlsym(RTLD_NEXT, counted_names[i]);
    if (!folder)
        return;
    snprintf(path, sizeof(path), "%s/%s.%d", folder, rank ? rank : "0", (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)bytes))
        return;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        counted_base = map;
}
"""


def symbols_of(probe):
    """The MPI functions that the probe exports, in all bindings."""
    listing = subprocess.run(["nm", "-D", "--defined-only", probe], capture_output=True, text=True,
                             check=True).stdout
    found = re.findall(r" T (MPI_\w+|mpi_\w+_)$", listing, re.M)
    return sorted(found)


def operation_of(symbol):
    """MPI_Bcast, MPI_Bcast_c, mpi_bcast_, mpi_bcast_f08_ and mpi_bcast_f08ts_ are all Bcast."""
    name = re.sub(r"^(MPI|mpi)_|(_f08|_f08ts)?_$|_c$", "", symbol)
    return name[0].upper() + name[1:].lower()


def assembly(symbols):
    n = len(symbols)
    yield ".text"
    for i, symbol in enumerate(symbols):
        yield f".globl {symbol}\n.type {symbol}, @function\n{symbol}:"
        yield "    mov counted_base(%rip), %r11"
        yield f"    lock incq {8 * i}(%r11)"
        yield f"    jmp *counted_real+{8 * i}(%rip)"
    yield ".section .rodata"
    for i, symbol in enumerate(symbols):
        yield f'name_{i}: .asciz "{symbol}"'
    yield f".globl counted_size\n.hidden counted_size\ncounted_size: .long {n}"
    yield ".data\n.balign 8\n.globl counted_names\n.hidden counted_names\ncounted_names:"
    yield from (f"    .quad name_{i}" for i in range(n))
    yield ".globl counted_base\n.hidden counted_base\ncounted_base: .quad private_counts"
    yield ".bss\n.balign 8\n.globl counted_real\n.hidden counted_real"
    yield f"counted_real: .skip {8 * n}\nprivate_counts: .skip {8 * n}"
    yield '.section .note.GNU-stack,"",@progbits'


def build(libraries, folder):
    """Returns (library, its symbols), or (None, []) where it cannot be built."""
    symbols = sorted(symbol for library in libraries for symbol in symbols_of(library))
    if os.uname().machine != "x86_64" or not symbols:
        return None, []
    c, s, library = (os.path.join(folder, "counter" + end) for end in (".c", ".s", ".so"))
    with open(c, "w") as file:
        file.write(C_PART)
    with open(s, "w") as file:
        file.write("\n".join(assembly(symbols)) + "\n")
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", library, c, s, "-ldl"], check=True)
    return library, symbols


def read(folder, symbols):
    """{rank: {operation: calls}} of all processes that left a file there."""
    ranks = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            counts = struct.unpack(f"{len(symbols)}q", file.read())
        of_rank = ranks.setdefault(int(name.split(".")[0]), {})
        for symbol, count in zip(symbols, counts):
            if count:
                operation = operation_of(symbol)
                of_rank[operation] = of_rank.get(operation, 0) + count
    return ranks
