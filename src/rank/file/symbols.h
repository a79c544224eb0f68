/* Names of functions and source lines for addresses in program files: by the files' symbol tables
 * and, where they have it, debug information (elfutils). Called by stacktable.c and
 * live/calltrace.c. Tool code; only reads. */
#ifndef PW_RANK_FILE_SYMBOLS_H
#define PW_RANK_FILE_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct pw_symbols;

/* NULL when memory is short. Files are opened as they are asked for, and kept. */
struct pw_symbols *pw_symbols_create(void);
void pw_symbols_destroy(struct pw_symbols *symbols);

/* "function (file.c:12)", "function+0x2b", or "libfoo.so+0x1a2b" of `offset` in the ELF file
 * `path`, an address as its symbol table has them; "?" for path "". Never a semicolon. */
void pw_symbols_describe(struct pw_symbols *symbols, const char *path, uint64_t offset, char *text,
                         size_t size);

/* An address whose module the caller has found; the file and the offset are used where there is no
 * symbol. */
struct Dwfl_Module;
struct pw_symbol_place {
    struct Dwfl_Module *module; /* libdwfl's; NULL: none */
    uint64_t address;
    const char *path;
    uint64_t offset; /* of the address in the file */
};

/* The same text for such an address. */
void pw_symbols_write(const struct pw_symbol_place *place, char *text, size_t size);

#endif
