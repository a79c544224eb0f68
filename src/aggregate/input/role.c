/* Roles that are given; see role.h. */
#include "aggregate/input/role.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/h5reader.h"
#include "core/tables.h"

int pw_role_read(hid_t file, char **texts, size_t ntexts, char role[64])
{
    void *all = NULL;
    size_t n = 0;
    role[0] = '\0';
    int err = pw_h5_read_all(file, PW_TABLE_metadata, &all, &n);
    if (err)
        return err == -ENOENT ? 0 : err;
    const struct pw_row_metadata *rows = all;
    for (size_t i = 0; i < n; i++)
        if (rows[i].key < ntexts && rows[i].value < ntexts &&
            strcmp(texts[rows[i].key], "role") == 0)
            snprintf(role, 64, "%.63s", texts[rows[i].value]);
    free(all);
    return 0;
}

/* The next word of a command, without folders; NULL behind the last. */
static const char *next_word(const char *at, char word[64])
{
    at += strspn(at, " ");
    size_t length = strcspn(at, " ");
    if (!length)
        return NULL;
    size_t name = length;
    while (name > 0 && at[name - 1] != '/')
        name--;
    snprintf(word, 64, "%.*s", (int)(length - name < 63 ? length - name : 63), at + name);
    return at + length;
}

void pw_role_program(const char *command, char out[64])
{
    char word[64];
    const char *at = next_word(command, out);
    if (!at) {
        out[0] = '\0';
        return;
    }
    if (strncmp(out, "python", 6) != 0)
        return;
    while ((at = next_word(at, word)))
        if (word[0] != '-') {
            snprintf(out, 64, "%s", word);
            return;
        }
}

/* `name` with '-' for '_' is at the beginning of `text`; its length, or 0. */
static size_t match(const char *text, const char *name)
{
    size_t n = 0;
    for (; name[n]; n++)
        if (text[n] != name[n] && !(name[n] == '-' && text[n] == '_'))
            return 0;
    return n;
}

int64_t pw_role_command_stages(const char *command)
{
    static const char *const names[] = {"pipeline-model-parallel-size", "pipeline-parallel-size",
                                        "pipe-parallel-size"};
    for (const char *at = command; *at; at++)
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
            size_t length = match(at, names[i]);
            int begins = at > command && strchr("-. +", at[-1]);
            if (!length || !begins || !strchr(" =", at[length]))
                continue;
            long stages = strtol(at + length + 1, NULL, 10);
            if (stages > 1 && stages < 1 << 20)
                return stages;
        }
    return 0;
}
