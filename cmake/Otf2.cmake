# OTF2 3, for archives of traces: the target OTF2::OTF2, where it is. Debian's name of the library is
# open-trace-format2; OTF2's own is otf2, and it comes without a file for pkg-config.
option(PROFWRAP_OTF2 "Build what writes and reads OTF2 archives, where OTF2 is" ON)
if(PROFWRAP_OTF2)
    find_path(PROFWRAP_OTF2_INCLUDE_DIR otf2/otf2.h DOC "Folder of OTF2's headers")
    find_library(PROFWRAP_OTF2_LIBRARY NAMES open-trace-format2 otf2 DOC "Library of OTF2")
endif()
if(PROFWRAP_OTF2 AND PROFWRAP_OTF2_INCLUDE_DIR AND PROFWRAP_OTF2_LIBRARY)
    file(STRINGS ${PROFWRAP_OTF2_INCLUDE_DIR}/otf2/OTF2_EvtWriter.h otf2_is_3 REGEX "CommCreate")
endif()
if(otf2_is_3)
    add_library(OTF2::OTF2 UNKNOWN IMPORTED)
    set_target_properties(OTF2::OTF2 PROPERTIES IMPORTED_LOCATION ${PROFWRAP_OTF2_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${PROFWRAP_OTF2_INCLUDE_DIR})
else()
    message(STATUS "no OTF2 3 (Debian: libopen-trace-format2-dev): OTF2 archives are neither written nor read")
endif()
