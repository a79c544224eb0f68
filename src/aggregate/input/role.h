/* What a rank file says of the rank's part in the job: its role, its program, its command line. */
#ifndef PW_AGGREGATE_INPUT_ROLE_H
#define PW_AGGREGATE_INPUT_ROLE_H

#include <hdf5.h>
#include <stddef.h>
#include <stdint.h>

/* The last value of the metadata "role" among `texts`, rows of /strings; "" when there is none. */
int pw_role_read(hid_t file, char **texts, size_t ntexts, char role[64]);

/* The file name of the command's program; of an interpreter also that of its script. */
void pw_role_program(const char *command, char out[64]);

/* Stages of a pipeline that the command line asks for, as Megatron, NeMo and GPT-NeoX spell it
 * (--pipeline-model-parallel-size 4); 0 when it does not. */
int64_t pw_role_command_stages(const char *command);

#endif
