/* Reads DT_GNU_HASH and DT_HASH; see elfobject.h. */
#include "rank/probe/elfobject.h"

#include <stddef.h>
#include <string.h>

enum { HIDDEN_VERSION = 0x8000 };

/* The loader adds the base to addresses in the dynamic section, except when that section is
 * read-only. */
static const void *address(const struct pw_elf *elf, ElfW(Addr) value)
{
    return (const void *)(value < elf->base ? value + elf->base : value);
}

void pw_elf_read(struct pw_elf *elf, ElfW(Addr) base, const ElfW(Dyn) * dynamic)
{
    const ElfW(Dyn) *soname = NULL;
    *elf = (struct pw_elf){.base = base, .dynamic = dynamic};
    for (const ElfW(Dyn) *entry = dynamic; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = address(elf, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            elf->symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            elf->strings = at;
        else if (entry->d_tag == DT_VERSYM)
            elf->versions = at;
        else if (entry->d_tag == DT_GNU_HASH)
            elf->gnu_hash = at;
        else if (entry->d_tag == DT_HASH)
            elf->hash = at;
        else if (entry->d_tag == DT_SONAME)
            soname = entry;
    }
    if (soname && elf->strings)
        elf->soname = elf->strings + soname->d_un.d_val;
}

const ElfW(Dyn) * pw_elf_dynamic(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

uint32_t pw_elf_hash(const char *name)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    return hash;
}

/* Ignores indirect functions (STT_GNU_IFUNC): only the loader may call their resolvers. */
static int is_wanted(const struct pw_elf *elf, uint32_t i, const char *name)
{
    const ElfW(Sym) *symbol = &elf->symbols[i];
    const unsigned type = symbol->st_info & 0xf;
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
           (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC) &&
           symbol->st_info >> 4 != STB_LOCAL &&
           !(elf->versions && (elf->versions[i] & HIDDEN_VERSION)) &&
           strcmp(elf->strings + symbol->st_name, name) == 0;
}

static const ElfW(Sym) * find_by_gnu_hash(const struct pw_elf *elf, const char *name, uint32_t hash)
{
    enum { WORD = sizeof(ElfW(Addr)) * 8 };
    const uint32_t nbuckets = elf->gnu_hash[0], first = elf->gnu_hash[1];
    const uint32_t words = elf->gnu_hash[2], shift = elf->gnu_hash[3];
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(elf->gnu_hash + 4);
    const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + words);
    const uint32_t *chains = buckets + nbuckets;
    if (!nbuckets || !words)
        return NULL;
    const ElfW(Addr) word = bloom[hash / WORD % words];
    if (!(word >> (hash % WORD) & word >> ((hash >> shift) % WORD) & 1))
        return NULL;
    uint32_t i = buckets[hash % nbuckets];
    for (int is_last = i < first; !is_last; i++) {
        if ((chains[i - first] | 1) == (hash | 1) && is_wanted(elf, i, name))
            return &elf->symbols[i];
        is_last = chains[i - first] & 1;
    }
    return NULL;
}

static const ElfW(Sym) * find_by_hash(const struct pw_elf *elf, const char *name)
{
    const uint32_t nbuckets = elf->hash[0];
    uint32_t hash = 0;
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0xfffffff;
    }
    for (uint32_t i = nbuckets ? elf->hash[2 + hash % nbuckets] : 0; i;
         i = elf->hash[2 + nbuckets + i])
        if (is_wanted(elf, i, name))
            return &elf->symbols[i];
    return NULL;
}

const ElfW(Sym) * pw_elf_find(const struct pw_elf *elf, const char *name, uint32_t hash)
{
    if (!elf->symbols || !elf->strings)
        return NULL;
    if (elf->gnu_hash)
        return find_by_gnu_hash(elf, name, hash);
    return elf->hash ? find_by_hash(elf, name) : NULL;
}

static size_t string_bytes(const struct pw_elf *elf)
{
    for (const ElfW(Dyn) *entry = elf->dynamic; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_STRSZ)
            return entry->d_un.d_val;
    return 0;
}

/* The hash tables list only defined symbols, and no field has the number of symbols. So this reads
 * all symbols up to the beginning of the next table. */
bool pw_elf_imports(const struct pw_elf *elf, const char *name)
{
    const void *const others[] = {elf->strings, elf->versions, elf->gnu_hash, elf->hash};
    const uintptr_t first = (uintptr_t)elf->symbols;
    const size_t bytes = string_bytes(elf);
    uintptr_t end = 0;
    if (!elf->symbols || !elf->strings)
        return false;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if ((uintptr_t)others[i] > first && (!end || (uintptr_t)others[i] < end))
            end = (uintptr_t)others[i];
    for (const ElfW(Sym) *symbol = elf->symbols; (uintptr_t)(symbol + 1) <= end; symbol++)
        if (symbol->st_shndx == SHN_UNDEF && symbol->st_name && symbol->st_name < bytes &&
            strcmp(elf->strings + symbol->st_name, name) == 0)
            return true;
    return false;
}
