# What `cmake --install` writes: the program, libraries, headers and the CMake package; rules/ adds
# its data. Programs and data are the component `program`. The component `bundle`, which is installed only when it
# is named, is the shared libraries that they need (python/): with both, they run where none is installed.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(LEMMA_INSTALL_HEADERS "${CMAKE_INSTALL_INCLUDEDIR}")
set(LEMMA_INSTALL_DATA "${CMAKE_INSTALL_DATADIR}/lemma")
set(LEMMA_INSTALL_PACKAGE "${CMAKE_INSTALL_LIBDIR}/cmake/Lemma")

function(lemma_install_library target)
  install(TARGETS ${target} EXPORT LemmaTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()

# The headers that cmake/public_headers.txt lists, and what they include.
function(lemma_install_headers)
  set(version_header "${PROJECT_BINARY_DIR}/installed/version.h")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/version.h.in" "${version_header}" @ONLY)
  install(CODE "execute_process(
    COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\" \"-DVERSION_HEADER=${version_header}\"
            \"-DDESTINATION=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${LEMMA_INSTALL_HEADERS}\"
            -P \"${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake\"
    COMMAND_ERROR_IS_FATAL ANY)")
endfunction()

# The old kind of search path (DT_RPATH) holds for libraries that bundled libraries need, too.
function(lemma_install_program target)
  install(TARGETS ${target} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/lemma")
  target_link_options(${target} PRIVATE "LINKER:--disable-new-dtags")
  set_property(GLOBAL APPEND PROPERTY LEMMA_PROGRAMS ${target})
endfunction()

# Data in the folder that the program looks into: lemma_install_data(DIRECTORY | FILES ...)
function(lemma_install_data)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "FOLDER" "DIRECTORY;FILES;MATCHING")
  set(destination DESTINATION "${LEMMA_INSTALL_DATA}/${arg_FOLDER}" COMPONENT program)
  if(arg_FILES)
    install(FILES ${arg_FILES} ${destination})
    return()
  endif()
  set(patterns "")
  foreach(pattern IN LISTS arg_MATCHING)
    list(APPEND patterns PATTERN "${pattern}")
  endforeach()
  if(patterns)
    list(PREPEND patterns FILES_MATCHING)
  endif()
  install(DIRECTORY ${arg_DIRECTORY} ${destination} ${patterns})
endfunction()

function(lemma_install_package)
  lemma_install_headers()
  install(EXPORT LemmaTargets NAMESPACE Lemma:: DESTINATION "${LEMMA_INSTALL_PACKAGE}")
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/LemmaConfig.cmake.in" "${PROJECT_BINARY_DIR}/LemmaConfig.cmake"
    INSTALL_DESTINATION "${LEMMA_INSTALL_PACKAGE}"
    PATH_VARS LEMMA_INSTALL_DATA)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/LemmaConfigVersion.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES
            "${PROJECT_BINARY_DIR}/LemmaConfig.cmake"
            "${PROJECT_BINARY_DIR}/LemmaConfigVersion.cmake"
            "${PROJECT_SOURCE_DIR}/cmake/FindZ3.cmake"
          DESTINATION "${LEMMA_INSTALL_PACKAGE}")

  # The program looks for its data in ../share/lemma; the build tree has the same layout.
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/lemma")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/rules" "${PROJECT_BINARY_DIR}/share/lemma/rules" SYMBOLIC)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/targets/devices"
       "${PROJECT_BINARY_DIR}/share/lemma/devices" SYMBOLIC)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/targets/clusters"
       "${PROJECT_BINARY_DIR}/share/lemma/clusters" SYMBOLIC)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/targets/network_prices.json"
       "${PROJECT_BINARY_DIR}/share/lemma/network_prices.json" SYMBOLIC)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/costmodel/profiles"
       "${PROJECT_BINARY_DIR}/share/lemma/profiles" SYMBOLIC)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/profiler/onnxruntime_worker.py"
       "${PROJECT_BINARY_DIR}/share/lemma/onnxruntime_worker.py" SYMBOLIC)
endfunction()
