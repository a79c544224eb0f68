/* Files of other tools that are no JSON: what they are, and what to use instead. planner.c asks
 * when no format of format.h takes a file; other tools' JSON is recognised by kineto/kineto.c. */
#ifndef PW_IMPORT_FOREIGN_H
#define PW_IMPORT_FOREIGN_H

/* Returns "is a report of Nsight Systems: record the job itself, ..." by the file's first bytes and
 * its name; NULL when it is not known. */
const char *pw_foreign_file(const char *path);

/* The same of the first such file in a directory, in *name, which has 256 bytes. */
const char *pw_foreign_in(const char *directory, char name[256]);

#endif
