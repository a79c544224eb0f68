# Run by cpack in the tree of a package before it is packed: of a Debian package, adds the copyright file
# and the list of changes, and compresses the manual pages.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
set(prefix ${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX})
set(doc ${prefix}/share/doc/profwrap)
file(MAKE_DIRECTORY ${doc})
file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: profwrap

Files: *
Copyright: 2026 The profwrap authors
License: Apache-2.0
 On Debian systems, the licence is in /usr/share/common-licenses/Apache-2.0.
")
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "profwrap (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * CHANGELOG.md of the source has the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
file(GLOB pages ${prefix}/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
