# Run as a script (PROGRAM, OUTPUT): writes a C++ source with the bytes of a program.

file(READ "${PROGRAM}" digits HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${digits}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}"
     "#include \"system/supervisor_image.h\"\n\nnamespace lemma {\n\n"
     "namespace {\nconstexpr unsigned char bytes[] = {\n${bytes}};\n}  // namespace\n\n"
     "const std::span<const unsigned char> supervisor_image = bytes;\n\n}  // namespace lemma\n")
