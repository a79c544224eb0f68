/* Runs a target over files, where there is no libFuzzer:   fuzz_TARGET FILE|DIR... */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int replayed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    size_t size = (size_t)ftell(file);
    uint8_t *bytes = malloc(size + 1);
    rewind(file);
    if (!bytes || fread(bytes, 1, size, file) != size)
        exit(2);
    fclose(file);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    replayed++;
}

static void replay(const char *path)
{
    char name[FUZZ_PATH];
    DIR *dir = opendir(path);
    if (!dir) {
        replay_file(path);
        return;
    }
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) < (int)sizeof(name))
            replay(name);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    fprintf(stderr, "%d inputs\n", replayed);
    return replayed ? 0 : 2;
}
