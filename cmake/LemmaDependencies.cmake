# Third-party libraries. LemmaConfig.cmake.in repeats the list for users of the installed package.

find_package(absl REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
find_package(TBB REQUIRED)
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Z3 REQUIRED)
