/* The call stacks of a rank file: gathers their frames while the program runs, and writes them as
 * text when it has ended; and finds function names and source lines for addresses in program files,
 * by their symbol tables and debug information, if any (elfutils). Called by the intake and by
 * live/calltrace.c. Tool code; only reads the program's files. Frames come from records and are not
 * trusted. */
#ifndef PW_RANK_FILE_CALLSTACKS_H
#define PW_RANK_FILE_CALLSTACKS_H

#include <stddef.h>
#include <stdint.h>

#include "rank/file/rankfile.h"
#include "rank/ring/record.h"

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

/* ---- the table ---- */

struct pw_stacktable;

/* Creates a table; row 0 means no stack. `budget` must outlive it. Returns NULL when memory is
 * short; all functions accept NULL, as a table without rows. */
struct pw_stacktable *pw_stacktable_create(struct pw_budget *budget);
void pw_stacktable_destroy(struct pw_stacktable *table);

/* Adds the frames in `record` to stack `row`. A module of a frame is the row `name_base` + id of
 * /strings. Impossible values are ignored. */
void pw_stacktable_add(struct pw_stacktable *table, uint32_t row, uint32_t name_base,
                       const struct pw_record *record);

/* Returns the number of rows so far, at least 1. */
uint32_t pw_stacktable_rows(const struct pw_stacktable *table);

/* Finds the functions' names and writes /stacks. */
void pw_stacktable_write(const struct pw_stacktable *table, struct pw_rankfile *file);

#endif
