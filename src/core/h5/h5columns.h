/* Attributes that give the units and the meanings of a table's columns, so that a reader needs no
 * page about the format. Each is a JSON text. Tool code; prints nothing. */
#ifndef PW_CORE_H5_H5COLUMNS_H
#define PW_CORE_H5_H5COLUMNS_H

#include <hdf5.h>

#include "core/tables.h"

#define PW_H5_UNITS "units"
#define PW_H5_MEANINGS "meanings"

/* Writes the attribute PW_H5_UNITS of a table's dataset: {"start": "ns", ...}, with those of its
 * columns that have a unit. A table without units gets no attribute: the files of thousands of
 * ranks have these. Returns 0, -ENOMEM or -EIO. */
int pw_h5_units_write(hid_t dataset, const struct pw_table *table);

/* Writes the attribute PW_H5_MEANINGS of a table's dataset: {"start": "when ...", ...}, with all
 * its columns. Returns 0, -ENOMEM or -EIO. */
int pw_h5_meanings_write(hid_t dataset, const struct pw_table *table);

/* Writes the attribute PW_H5_MEANINGS of a group, for all tables of rank files:
 * {"/steps": {"start": "when ...", ...}, ...}. Returns 0, -ENOMEM or -EIO. */
int pw_h5_rank_meanings_write(hid_t group);

#endif
