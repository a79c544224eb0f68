/* The numbers of the fields of Perfetto's schema that perfetto.c writes, and the values that it
 * gives them. The schema: github.com/google/perfetto, protos/perfetto/trace. Constants only. */
#ifndef PW_TIMELINE_PERFETTOFIELDS_H
#define PW_TIMELINE_PERFETTOFIELDS_H

/* Numbers of fields, by message. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_COMPRESSED = 50,
    PACKET_TRACK = 60
};
enum {
    EVENT_CATEGORY = 3,
    EVENT_ARG = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_VALUE = 44,
    EVENT_FLOW = 47
};
enum {
    TRACK_ID = 1,
    TRACK_NAME = 2,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDER = 11,
    TRACK_PLACE = 12
};
enum { ARG_NAME = 1, ARG_NUMBER = 4, ARG_TEXT = 17 };
enum {
    TEXT_ID = 1,
    TEXT_TEXT = 2,
    COUNTER_UNIT = 6,
    CLOCKS_CLOCK = 1,
    CLOCK_ID = 1,
    CLOCK_TIME = 2
};

/* Values. BOOTTIME is the clock of the trace; FIRST_CLOCK: the first that a producer may define. */
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_MARK = 3, TYPE_COUNTER = 4, IN_PLACES = 3 };
enum { SEQUENCE = 1, FLAG_CLEARED = 1, FLAG_NEEDS_TEXTS = 2, BOOTTIME = 6, FIRST_CLOCK = 128 };

#endif
