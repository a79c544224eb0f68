/* Symbols of one object that the loader has mapped, read from its own tables: without the loader,
 * whose lock another thread may hold for as long as a constructor runs. The object must stay mapped
 * meanwhile. Called by scope.c only. In-app: only reads. */
#ifndef PW_RANK_PROBE_ELFOBJECT_H
#define PW_RANK_PROBE_ELFOBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct pw_elf {
    ElfW(Addr) base;
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const ElfW(Half) * versions; /* NULL: none */
    const char *strings;
    const uint32_t *gnu_hash, *hash; /* NULL where the object has no such table */
    const char *soname;              /* NULL: none */
};

void pw_elf_read(struct pw_elf *elf, ElfW(Addr) base, const ElfW(Dyn) * dynamic);

/* The dynamic section of an object of dl_iterate_phdr(), or NULL. */
const ElfW(Dyn) * pw_elf_dynamic(const struct dl_phdr_info *info);

/* The hash of a name that pw_elf_find() wants. */
uint32_t pw_elf_hash(const char *name);

/* The object's definition of a function or variable, or NULL: its address is `base` + st_value. */
const ElfW(Sym) * pw_elf_find(const struct pw_elf *elf, const char *name, uint32_t hash);

/* Whether the object wants it of others. */
bool pw_elf_imports(const struct pw_elf *elf, const char *name);

#endif
