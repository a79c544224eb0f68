/* Demangles and shortens names; see demangle.h. */
#include "rank/live/demangle.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 512, LONG_LIST = 24 };

typedef char *demangler(const char *name, char *out, size_t *size, int *status);

static demangler *find_demangler(void)
{
    static demangler *found;
    static bool is_tried;
    if (is_tried)
        return found;
    is_tried = true;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
    memcpy(&found, &symbol, sizeof(found));
    return found;
}

/* The end of the bracket that begins at `at`: behind it, or the end of the text. */
static const char *behind(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '<' || *at == '(';
        depth -= (*at == '>' && at[-1] != '-') || *at == ')';
        if (depth == 0)
            return at + 1;
    }
    return at;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

const char *pw_demangle_shorten(const char *name, char *out, size_t size)
{
    static const char anonymous[] = "(anonymous namespace)", word[] = "operator";
    size_t used = 0;
    for (const char *at = name; *at && used + sizeof(anonymous) < size;) {
        if (begins(at, anonymous)) {
            used += (size_t)snprintf(out + used, size - used, "%s", anonymous);
            at += sizeof(anonymous) - 1;
        } else if (begins(at, word)) { /* its brackets are its name */
            const size_t length = sizeof(word) - 1 + strcspn(at + sizeof(word) - 1, "(") +
                                  (begins(at + sizeof(word) - 1, "()") ? 2 : 0);
            used += (size_t)snprintf(out + used, size - used, "%.*s", (int)length, at);
            break;
        } else if (*at == '(') {
            break;
        } else if (*at == '<' && behind(at) - at > LONG_LIST) {
            used += (size_t)snprintf(out + used, size - used, "<...>");
            at = behind(at);
        } else {
            out[used++] = *at++;
        }
    }
    out[used < size ? used : size - 1] = '\0';
    return out;
}

void pw_demangle(char *text, size_t size)
{
    char mangled[NAME], rest[NAME], brief[NAME];
    const size_t length = strcspn(text, " +@");
    demangler *demangle = text[0] == '_' && text[1] == 'Z' ? find_demangler() : NULL;
    int status = -1;
    if (!demangle || length >= sizeof(mangled) || strlen(text + length) >= sizeof(rest))
        return;
    memcpy(mangled, text, length);
    mangled[length] = '\0';
    strcpy(rest, text + length);
    char *name = demangle(mangled, NULL, NULL, &status);
    if (status == 0 && name) {
        pw_demangle_shorten(name, brief, sizeof(brief));
        if (strlen(brief) + strlen(rest) < size && !strchr(brief, ';'))
            sprintf(text, "%s%s", brief, rest);
    }
    free(name);
}
