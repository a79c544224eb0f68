/* The names that profwrap's archives have for what OTF2 has no record for: attributes of Enter
 * events, the region of a step, a property of the archive. Used by defs.c, take.c and write.c.
 * Constants only. */
#ifndef PW_OTF2_NAMES_H
#define PW_OTF2_NAMES_H

/* A(id, name, OTF2's type, description): attributes, numbered from 0. */
#define PW_OTF2_ATTRIBUTES(A)                                                          \
    A(KIND, "profwrap::kind", OTF2_TYPE_STRING, "kind of a range of the program")      \
    A(CATEGORY, "profwrap::category", OTF2_TYPE_STRING, "type of an operator")         \
    A(SHAPES, "profwrap::shapes", OTF2_TYPE_STRING, "shapes of an operator's inputs")  \
    A(SEQUENCE, "profwrap::sequence", OTF2_TYPE_INT64, "number of a step or operator") \
    A(RECORDED, "profwrap::recorded", OTF2_TYPE_STRING, "how a step was recorded")     \
    A(REASON, "profwrap::reason", OTF2_TYPE_STRING, "why records are missing")         \
    A(LOST, "profwrap::lost", OTF2_TYPE_INT64, "records that are missing")             \
    A(BYTES, "profwrap::bytes", OTF2_TYPE_INT64, "bytes of a copy, or of a file's data")

enum pw_otf2_attribute {
#define PW_OTF2_ATTRIBUTE(id, name, type, description) PW_OTF2_##id,
    PW_OTF2_ATTRIBUTES(PW_OTF2_ATTRIBUTE)
#undef PW_OTF2_ATTRIBUTE
        PW_OTF2_ATTRIBUTE_COUNT
};

#define PW_OTF2_STEP "step"
#define PW_OTF2_VERSION_PROPERTY "PROFWRAP::VERSION"

#endif
