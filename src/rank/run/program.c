/* Finds and inspects the program; see program.h. Reads ELF with every offset checked. */
#include "rank/run/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_runnable(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return -errno;
    if (S_ISDIR(st.st_mode) || access(path, X_OK))
        return -EACCES;
    return 0;
}

int pw_program_find(const char *name, char *path, int size)
{
    if (strchr(name, '/')) {
        snprintf(path, (size_t)size, "%s", name);
        int err = check_runnable(path);
        return err == -ENOTDIR ? -ENOENT : err;
    }
    const char *at = getenv("PATH");
    int best = -ENOENT;
    for (at = at ? at : "/usr/bin:/bin"; name[0]; at++) {
        int length = (int)strcspn(at, ":");
        snprintf(path, (size_t)size, "%.*s/%s", length ? length : 1, length ? at : ".", name);
        int err = check_runnable(path);
        if (err == 0)
            return 0;
        best = err == -EACCES ? err : best;
        at += length;
        if (!*at)
            break;
    }
    /* Open MPI's launcher looks in the working directory, too, after PATH. */
    if (best == -ENOENT && name[0] && getenv("OMPI_COMM_WORLD_SIZE")) {
        snprintf(path, (size_t)size, "./%s", name);
        best = check_runnable(path);
    }
    return best;
}

struct image {
    const unsigned char *bytes;
    size_t size;
};

/* Returns a pointer to a range of the mapped file; NULL when the range is not inside the file. */
static const void *at(const struct image *image, uint64_t offset, uint64_t length)
{
    if (offset > image->size || length > image->size - offset)
        return NULL;
    return image->bytes + offset;
}

/* As at(), for a structure: NULL also when its address is not aligned. */
static const void *aligned_at(const struct image *image, uint64_t offset, uint64_t length)
{
    return offset % sizeof(uint64_t) == 0 ? at(image, offset, length) : NULL;
}

static const Elf64_Phdr *segment(const struct image *image, int i)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof(*header));
    return aligned_at(image, header->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr),
                      sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *find_segment(const struct image *image, uint32_t type)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof(*header));
    for (int i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *found = segment(image, i);
        if (found && found->p_type == type)
            return found;
    }
    return NULL;
}

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#elif defined(__powerpc64__)
enum { OWN_MACHINE = EM_PPC64 };
#else
enum { OWN_MACHINE = EM_NONE }; /* our machine is not known: accept any */
#endif

static int is_own_machine(const Elf64_Ehdr *header)
{
    return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_phentsize == sizeof(Elf64_Phdr) &&
           (OWN_MACHINE == EM_NONE || header->e_machine == OWN_MACHINE);
}

static enum pw_program_kind inspect_image(const struct image *image)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof(*header));
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return PW_PROGRAM_OK; /* a script: the program that it starts is checked later */
    if (!is_own_machine(header))
        return PW_PROGRAM_OTHER_ARCH;
    const bool is_dynamic = find_segment(image, PT_INTERP) && find_segment(image, PT_DYNAMIC);
    return is_dynamic ? PW_PROGRAM_OK : PW_PROGRAM_STATIC;
}

/* Maps the file. Returns 0 when it cannot be read or is too small. */
static int map_image(const char *path, struct image *image)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *map = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (map == MAP_FAILED)
        return 0;
    *image = (struct image){map, (size_t)st.st_size};
    return 1;
}

enum pw_program_kind pw_program_inspect(const char *path)
{
    struct image image;
    if (!map_image(path, &image))
        return PW_PROGRAM_OK; /* not readable: execve() will report the error, if any */
    enum pw_program_kind kind = inspect_image(&image);
    munmap((void *)image.bytes, image.size);
    return kind;
}

/* Whether the table defines MPI_Init or MPI_Init_thread. */
static int defines_mpi(const struct image *image, const Elf64_Shdr *symbols,
                       const Elf64_Shdr *strings)
{
    const char *text = at(image, strings->sh_offset, strings->sh_size);
    for (uint64_t i = 0; text && i < symbols->sh_size / sizeof(Elf64_Sym); i++) {
        const Elf64_Sym *symbol =
            aligned_at(image, symbols->sh_offset + i * sizeof(*symbol), sizeof(*symbol));
        if (!symbol)
            break;
        const uint64_t left =
            symbol->st_name < strings->sh_size ? strings->sh_size - symbol->st_name : 0;
        const char *name = text + symbol->st_name;
        if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
            ((left >= sizeof("MPI_Init") && memcmp(name, "MPI_Init", sizeof("MPI_Init")) == 0) ||
             (left >= sizeof("MPI_Init_thread") &&
              memcmp(name, "MPI_Init_thread", sizeof("MPI_Init_thread")) == 0)))
            return 1;
    }
    return 0;
}

static int find_mpi(const struct image *image)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof(*header));
    const uint64_t step = sizeof(Elf64_Shdr);
    for (int i = 0; i < header->e_shnum && header->e_shentsize == step; i++) {
        const Elf64_Shdr *strings = NULL,
                         *symbols = aligned_at(image, header->e_shoff + (uint64_t)i * step, step);
        if (symbols && symbols->sh_type == SHT_SYMTAB && symbols->sh_link < header->e_shnum)
            strings = aligned_at(image, header->e_shoff + symbols->sh_link * step, step);
        if (strings && defines_mpi(image, symbols, strings))
            return 1;
    }
    return 0;
}

int pw_program_has_mpi(const char *path, int *is_static)
{
    struct image image;
    *is_static = 0;
    if (!map_image(path, &image))
        return 0;
    const Elf64_Ehdr *header = at(&image, 0, sizeof(*header));
    int found = header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && is_own_machine(header);
    *is_static = found && !find_segment(&image, PT_INTERP);
    found = found && find_mpi(&image);
    munmap((void *)image.bytes, image.size);
    return found;
}

/* Returns the place in the file of an address of the executable; -1 when no segment has it. */
static int64_t offset_of(const struct image *image, uint64_t address)
{
    const Elf64_Ehdr *header = at(image, 0, sizeof(*header));
    for (int i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *load = segment(image, i);
        if (load && load->p_type == PT_LOAD && address >= load->p_vaddr &&
            address - load->p_vaddr < load->p_filesz)
            return (int64_t)(address - load->p_vaddr + load->p_offset);
    }
    return -1;
}

/* Open MPI's ABI is that of the probe's own names, and needs no others. */
static int is_of_other_abi(const char *name, size_t length)
{
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)(length < sizeof(text) ? length : sizeof(text) - 1),
             name);
    return strncmp(text, "libmpich", strlen("libmpich")) == 0 ||
           strncmp(text, "libmpi_abi.so", strlen("libmpi_abi.so")) == 0 ||
           (strncmp(text, "libmpi", strlen("libmpi")) == 0 && strstr(text, ".so.12") != NULL);
}

static int needs_other_abi(const struct image *image)
{
    const Elf64_Phdr *dynamic = find_segment(image, PT_DYNAMIC);
    const uint64_t n = dynamic ? dynamic->p_filesz / sizeof(Elf64_Dyn) : 0;
    const Elf64_Dyn *entries =
        n ? aligned_at(image, dynamic->p_offset, n * sizeof(*entries)) : NULL;
    int64_t strings = -1;
    for (uint64_t i = 0; entries && i < n; i++)
        if (entries[i].d_tag == DT_STRTAB)
            strings = offset_of(image, entries[i].d_un.d_ptr);
    for (uint64_t i = 0; entries && strings >= 0 && i < n; i++) {
        const uint64_t name = (uint64_t)strings + entries[i].d_un.d_val;
        const char *text = entries[i].d_tag == DT_NEEDED ? at(image, name, 1) : NULL;
        if (text && is_of_other_abi(text, image->size - name))
            return 1;
    }
    return 0;
}

int pw_program_needs_other_abi(const char *path)
{
    struct image image;
    if (!map_image(path, &image))
        return 0;
    const Elf64_Ehdr *header = at(&image, 0, sizeof(*header));
    const int found = header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                      is_own_machine(header) && needs_other_abi(&image);
    munmap((void *)image.bytes, image.size);
    return found;
}

/* Whether a word of a command may name a program: it is no option, number, assignment or script for
 * a shell. Each other word is looked for in all directories of PATH, which may be slow ones. */
static int may_be_program(const char *word)
{
    return word[0] != '-' && !strchr("0123456789", word[0]) && !strpbrk(word, "= \t\n");
}

int pw_program_command_needs_other_abi(char *const *argv)
{
    enum { MOST_WORDS = 16 };
    char path[PATH_MAX];
    int found = 0;
    for (int i = 0; i < MOST_WORDS && argv[i] && !found; i++)
        found = (i == 0 || may_be_program(argv[i])) &&
                pw_program_find(argv[i], path, sizeof(path)) == 0 &&
                pw_program_needs_other_abi(path);
    return found;
}
