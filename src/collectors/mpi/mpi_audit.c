/* libprofwrap_audit.so, for --audit. The loader asks this library about every function that is
 * looked up in an MPI library, also by dlsym() on the library's handle and with RTLD_DEEPBIND. It
 * answers with the probe's wrapper. The loader puts an auditor into a namespace of its own with all
 * libraries that it needs, so it uses none, not even the C library. It defines no la_pltenter(), so
 * that calls do not pass through the loader. */
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "rank/run/baretext.h"

#define EXPORT __attribute__((visibility("default")))

/* Kinds of objects; an object's cookie is its kind. */
enum { OTHER = 0, MPI_LIBRARY, FORTRAN_LAYER, PROBE };

/* An object's table of symbols. */
struct symbols {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash; /* DT_GNU_HASH */
};

/* The symbols of the probe. Written when the loader maps the probe, before the program runs;
 * `is_there` is set last. */
static struct symbols probe;
static _Atomic int is_there;

EXPORT unsigned la_version(unsigned version);
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie);
EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                              unsigned *flags, const char *name);

/* Returns the address in memory: the loader may or may not have added the base to a value in the
 * dynamic section. */
static uintptr_t address(const struct link_map *map, uintptr_t value)
{
    return value < map->l_addr ? value + map->l_addr : value;
}

/* Returns 0 when the object has no hash table. */
static int read_symbols(struct symbols *table, const struct link_map *map)
{
    *table = (struct symbols){.base = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const uintptr_t at = address(map, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            table->symbols = (const ElfW(Sym) *)at;
        else if (entry->d_tag == DT_STRTAB)
            table->strings = (const char *)at;
        else if (entry->d_tag == DT_GNU_HASH)
            table->hash = (const uint32_t *)at;
    }
    return table->symbols && table->strings && table->hash;
}

/* Returns the address of a function or variable that the object defines; 0: none of this name. */
static uintptr_t find(const struct symbols *table, const char *name)
{
    const uint32_t nbuckets = table->hash[0], first = table->hash[1], words = table->hash[2];
    const uint32_t *buckets = table->hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + nbuckets;
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint32_t i = nbuckets ? buckets[hash % nbuckets] : 0;
    for (int is_last = i < first; !is_last; i++) {
        const ElfW(Sym) *symbol = &table->symbols[i];
        if ((chains[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            pw_bare_is_same(table->strings + symbol->st_name, name))
            return table->base + symbol->st_value;
        is_last = chains[i - first] & 1;
    }
    return 0;
}

/* The probe's function for MPI_X or PMPI_X; those of mpi4_functions.c have a longer name. 0: none.
 */
static uintptr_t find_wrapper(const char *name)
{
    static const char prefix[] = "profwrap_";
    char longer[sizeof(prefix) + 63];
    uintptr_t found = find(&probe, name);
    size_t n = 0;
    for (; prefix[n]; n++)
        longer[n] = prefix[n];
    for (const char *c = name; n + 1 < sizeof(longer) && *c; c++)
        longer[n++] = *c;
    longer[n] = '\0';
    return found ? found : find(&probe, longer);
}

/* Recognises an MPI library by what it defines, not by its name: MUMPS's libmpiseq is no MPI. */
static int kind_of(const struct link_map *map)
{
    struct symbols own;
    const char *name = pw_bare_base_name(map->l_name);
    if (pw_bare_after(name, "libmpi_mpifh") || pw_bare_after(name, "libmpi_usempi"))
        return FORTRAN_LAYER;
    if (!read_symbols(&own, map))
        return OTHER;
    if (find(&own, "ompi_comm_size_f"))
        return FORTRAN_LAYER;
    return find(&own, "PMPI_Init") &&
                   (find(&own, "ompi_mpi_comm_world") || find(&own, "MPI_UNWEIGHTED") ||
                    find(&own, "PMPI_Abi_get_version"))
               ? MPI_LIBRARY
               : OTHER;
}

unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* The loader asks about bindings from objects with BINDFROM to objects with BINDTO. So this returns
 * neither for the probe, BINDTO only for MPI libraries, and BINDFROM for all other objects,
 * Fortran's libraries included. */
unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
    const char *name = pw_bare_base_name(map->l_name);
    *cookie = OTHER;
    if (namespace != LM_ID_BASE)
        return 0;
    if (pw_bare_is_same(name, "libprofwrap_probe.so")) {
        *cookie = PROBE;
        atomic_store(&is_there, read_symbols(&probe, map));
        return 0;
    }
    *cookie = kind_of(map);
    return *cookie == MPI_LIBRARY ? LA_FLG_BINDTO : LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                       unsigned *flags, const char *name)
{
    (void)index, (void)flags;
    uintptr_t wrapper = 0;
    const char *seen = *from == OTHER ? "MPI_" : "PMPI_"; /* from Fortran's library: PMPI_
                                                           * (mpi_library.h) */
    if (*to == MPI_LIBRARY && (*from == OTHER || *from == FORTRAN_LAYER) &&
        atomic_load(&is_there) && pw_bare_after(name, seen))
        wrapper = find_wrapper(name);
    return wrapper ? wrapper : symbol->st_value;
}
