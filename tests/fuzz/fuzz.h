/* Functions that the targets share: a directory for inputs, and the judgement. For any input a
 * reader must end with 0 and print nothing wrong, or end with 1 after one line. Anything else
 * aborts. */
#ifndef PW_FUZZ_FUZZ_H
#define PW_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_PATH = 4096 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "<directory of this process>/<name>" in `out`, which is returned. */
const char *fuzz_path(char out[FUZZ_PATH], const char *name);

/* Makes the bytes the file `name` there, and its path `out`. */
void fuzz_put(char out[FUZZ_PATH], const char *name, const uint8_t *data, size_t size);

/* Makes a file of the corpus, "rank/halo-0", the file `name` there; it must be small. Returns its
 * bytes, which stay until the next call. */
const uint8_t *fuzz_put_corpus(const char *name, const char *from, size_t *size);

/* Removes all files of a directory. Aborts at one that is unfinished. */
void fuzz_empty(const char *dir);

/* To be called before and after a command. The first forgets the output so far, and limits the heap
 * by the size of the last input. The second judges the status, the output and the memory. */
void fuzz_begin(void);
void fuzz_judge(int status);

/* Judges the memory only, for readers without a status. */
void fuzz_end(void);

/* Aborts when a printed text has a control sequence for terminals. */
void fuzz_check_text(const char *path);

/* Aborts when a file is no JSON; of targets with json.c. */
void fuzz_check_json(const char *path);

/* Aborts when a file is no trace of Perfetto's; of targets with proto.c. */
void fuzz_check_perfetto(const char *path);

#endif
