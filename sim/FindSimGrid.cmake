# Debian's SimGrid ships a pkg-config file and no CMake package.
# Defines SimGrid::simgrid, SimGrid_VERSION ("3.32.0") and SimGrid_HAS_NS3.
include(FindPackageHandleStandardArgs)

find_path(SimGrid_INCLUDE_DIR simgrid/version.h)
find_library(SimGrid_LIBRARY simgrid)

if(SimGrid_INCLUDE_DIR)
  file(STRINGS ${SimGrid_INCLUDE_DIR}/simgrid/version.h numbers REGEX "^#define SIMGRID_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  list(TRANSFORM numbers REPLACE ".* ([0-9]+)$" "\\1")
  list(JOIN numbers "." SimGrid_VERSION)

  file(STRINGS ${SimGrid_INCLUDE_DIR}/simgrid/config.h ns3 REGEX "^#define SIMGRID_HAVE_NS3 1")
  set(SimGrid_HAS_NS3 FALSE)
  if(ns3)
    set(SimGrid_HAS_NS3 TRUE)
  endif()
endif()

find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR VERSION_VAR SimGrid_VERSION)

if(SimGrid_FOUND AND NOT TARGET SimGrid::simgrid)
  add_library(SimGrid::simgrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::simgrid PROPERTIES
    IMPORTED_LOCATION ${SimGrid_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${SimGrid_INCLUDE_DIR})
endif()
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY)
