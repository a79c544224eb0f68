/* Symbols by elfutils' libdwfl; see symbols.h. */
#include "rank/file/symbols.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct module {
    char *path;
    Dwfl_Module *module; /* NULL when it cannot be read */
    GElf_Addr bias;      /* added to the symbols' addresses in the file */
};

struct pw_symbols {
    Dwfl *dwfl;
    struct module *modules;
    size_t n;
};

static char *debug_path; /* NULL: elfutils' own default */
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

struct pw_symbols *pw_symbols_create(void)
{
    struct pw_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols)
        return NULL;
    /* Do not load debug information from servers at the end of a job. */
    unsetenv("DEBUGINFOD_URLS");
    symbols->dwfl = dwfl_begin(&callbacks);
    if (!symbols->dwfl) {
        free(symbols);
        return NULL;
    }
    return symbols;
}

void pw_symbols_destroy(struct pw_symbols *symbols)
{
    if (!symbols)
        return;
    dwfl_end(symbols->dwfl);
    for (size_t i = 0; i < symbols->n; i++)
        free(symbols->modules[i].path);
    free(symbols->modules);
    free(symbols);
}

static struct module open_module(Dwfl *dwfl, char *path)
{
    struct module module = {.path = path};
    dwfl_report_begin_add(dwfl);
    module.module = dwfl_report_offline(dwfl, path, path, -1);
    dwfl_report_end(dwfl, NULL, NULL);
    if (module.module && !dwfl_module_getelf(module.module, &module.bias))
        module.module = NULL;
    return module;
}

static const struct module *find_module(struct pw_symbols *symbols, const char *path)
{
    for (size_t i = 0; i < symbols->n; i++)
        if (strcmp(symbols->modules[i].path, path) == 0)
            return &symbols->modules[i];
    struct module *modules = realloc(symbols->modules, (symbols->n + 1) * sizeof(*modules));
    if (!modules)
        return NULL;
    symbols->modules = modules;
    char *copy = strdup(path);
    if (!copy)
        return NULL;
    modules[symbols->n] = open_module(symbols->dwfl, copy);
    return &modules[symbols->n++];
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void pw_symbols_write(const struct pw_symbol_place *place, char *text, size_t size)
{
    struct Dwfl_Module *module = place->module;
    const uint64_t address = place->address;
    GElf_Off within = 0;
    GElf_Sym symbol;
    const char *name =
        module ? dwfl_module_addrinfo(module, address, &within, &symbol, NULL, NULL, NULL) : NULL;
    Dwfl_Line *line = name ? dwfl_module_getsrc(module, address) : NULL;
    int number = 0, length = name ? (int)strcspn(name, "@") : 0; /* without a symbol's version */
    const char *source = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    if (source)
        snprintf(text, size, "%.*s (%s:%d)", length, name, base_name(source), number);
    else if (name)
        snprintf(text, size, "%.*s+0x%" PRIx64, length, name, within);
    else if (place->path[0])
        snprintf(text, size, "%s+0x%" PRIx64, base_name(place->path), place->offset);
    else
        snprintf(text, size, "?");
    for (char *c = text; *c; c++)
        *c = *c == ';' ? ':' : *c;
}

void pw_symbols_describe(struct pw_symbols *symbols, const char *path, uint64_t offset, char *text,
                         size_t size)
{
    const struct module *module = path[0] ? find_module(symbols, path) : NULL;
    const struct pw_symbol_place place = {
        .module = module ? module->module : NULL,
        .address = module ? offset + module->bias : 0,
        .path = path,
        .offset = offset,
    };
    pw_symbols_write(&place, text, size);
}
