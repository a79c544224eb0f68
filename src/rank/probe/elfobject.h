/* Finds symbols of one mapped object in the object's own tables. The loader (dlsym) is not used,
 * because another thread may hold its lock for as long as a constructor runs. The object must stay
 * mapped meanwhile. Called by scope.c only. In-app: only reads. */
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
    const uint32_t *gnu_hash, *hash; /* NULL when the object has no such table */
    const char *soname;              /* NULL: none */
};

void pw_elf_read(struct pw_elf *elf, ElfW(Addr) base, const ElfW(Dyn) * dynamic);

/* Returns the dynamic section of an object that dl_iterate_phdr() lists, or NULL. */
const ElfW(Dyn) * pw_elf_dynamic(const struct dl_phdr_info *info);

/* Returns the hash of a name, for pw_elf_find(). */
uint32_t pw_elf_hash(const char *name);

/* Returns the object's definition of a function or variable, or NULL. The address is `base` +
 * st_value. */
const ElfW(Sym) * pw_elf_find(const struct pw_elf *elf, const char *name, uint32_t hash);

/* Whether the object uses `name` and expects another object to define it. */
bool pw_elf_imports(const struct pw_elf *elf, const char *name);

#endif
