# D3 draws the charts of HTML reports. It is taken from the distribution's package and put beside the
# template; a build without it works, and its users name the file with --d3.
find_file(PROFWRAP_D3 NAMES d3.min.js d3.v7.min.js DOC "D3's d3.min.js, version 5 or later"
    PATHS /usr/share/nodejs/d3/dist /usr/lib/node_modules/d3/dist /usr/share/javascript/d3
    NO_DEFAULT_PATH)
set(PROFWRAP_D3_VERSION 0)
if(PROFWRAP_D3)
    file(READ ${PROFWRAP_D3} d3_head LIMIT 128)
    if(d3_head MATCHES "d3js\\.org v([0-9]+)")
        set(PROFWRAP_D3_VERSION ${CMAKE_MATCH_1})
    endif()
endif()
if(PROFWRAP_D3_VERSION LESS 5)
    message(STATUS "D3 5 or later was not found (Debian: node-d3): HTML reports will need --d3")
endif()
