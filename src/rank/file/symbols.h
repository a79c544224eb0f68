/* Finds function names and source lines for addresses in program files, by their symbol tables and
 * debug information, if any (elfutils). Called by stacktable.c and live/calltrace.c. Tool code;
 * only reads. */
#ifndef PW_RANK_FILE_SYMBOLS_H
#define PW_RANK_FILE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct pw_symbols;

/* Returns NULL when memory is short. Files are opened when they are first needed, and stay open. */
struct pw_symbols *pw_symbols_create(void);
void pw_symbols_destroy(struct pw_symbols *symbols);

/* Writes "function (file.c:12)", "function+0x2b" or "libfoo.so+0x1a2b" for `offset` in the ELF file
 * `path`; "?" when the path is "". `offset` is in the terms of the file's symbol table: relative to
 * the address at which the file was loaded. The text never contains a semicolon. */
void pw_symbols_describe(struct pw_symbols *symbols, const char *path, uint64_t offset, char *text,
                         size_t size);

/* An address of the process, whose module the caller has found. `path` and `offset` are for the
 * text when there is no symbol. */
struct Dwfl_Module;
struct pw_symbol_place {
    struct Dwfl_Module *module; /* libdwfl's; NULL: none */
    uint64_t address;           /* in the process */
    const char *path;
    uint64_t offset; /* the same address, relative to the one at which the file was loaded */
};

/* As pw_symbols_describe(), for such an address. */
void pw_symbols_write(const struct pw_symbol_place *place, char *text, size_t size);

#endif
