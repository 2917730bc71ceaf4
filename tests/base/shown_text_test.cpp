// Names of model files cannot control a terminal, end a comment or turn a line around.

#include "base/shown_text.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "base/number_text.h"

namespace lemma {
namespace {

TEST(ShownText, OrdinaryTextStays) {
  for (const ShownIn place : {ShownIn::line, ShownIn::page, ShownIn::comment, ShownIn::markdown})
    for (const char* text : {"", "conv1/weight:0", "größe", "形", "\xf0\x9f\x98\x80", "a~b"})
      EXPECT_EQ(shown(text, place), text);
}

TEST(ShownText, ControlsAreEscaped) {
  EXPECT_EQ(shown("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(shown("a\nb\tc\x7f"), "a\\x0ab\\x09c\\x7f");
  EXPECT_EQ(shown(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(shown("a\nb\r", ShownIn::page), "a\nb\\x0d");
  EXPECT_EQ(shown("\xc2\x9b"), "\\u009b");              // a control sequence of 8-bit terminals
  EXPECT_EQ(shown("\xe2\x80\xae"), "\\u202e");          // right to left from here on
  EXPECT_EQ(shown("\xe2\x81\xa6"), "\\u2066");          // isolates
  EXPECT_EQ(shown("\xe2\x80\xa8"), "\\u2028");          // ends a line
  EXPECT_EQ(shown("\xef\xbb\xbf"), "\\ufeff");          // has no width
  EXPECT_EQ(shown("\xf3\xa0\x81\x81"), "\\U000e0041");  // a tag
}

TEST(ShownText, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(shown("\x9b"), "\\x9b");
  EXPECT_EQ(shown("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(shown("\xe2\x80"), "\\xe2\\x80");                    // cut
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above the last
}

TEST(ShownText, NothingEndsOrContinuesAComment) {
  EXPECT_EQ(shown("a */ b", ShownIn::comment), "a \\x2a/ b");
  EXPECT_EQ(shown("a\\", ShownIn::comment), "a\\x5c");
  EXPECT_EQ(shown("a?\?/", ShownIn::comment), "a\\x3f\\x3f/");
  EXPECT_EQ(shown("a`b<c", ShownIn::markdown), "a\\x60b\\x3cc");
}

TEST(NumberText, NumbersBeginATextOrAreAllOfIt) {
  EXPECT_EQ(number_of<double>("0.5"), 0.5);
  EXPECT_EQ(number_of<double>("-inf"), -HUGE_VAL);
  EXPECT_EQ(number_of<double>("0,5"), std::nullopt);
  EXPECT_EQ(number_of<double>("0.5 "), std::nullopt);
  EXPECT_EQ(number_of<double>(""), std::nullopt);
  EXPECT_EQ(number_of<int>("12"), 12);
  EXPECT_EQ(number_of_hexadecimal("0x1.8p+1"), 3.0);
  EXPECT_EQ(number_of_hexadecimal("1.8p+1"), std::nullopt);
  EXPECT_EQ(hexadecimal_text(3), "0x1.8p+1");
  EXPECT_EQ(hexadecimal_text(-0.0), "-0x0p+0");
  std::string_view text = "  1.25, 3";
  EXPECT_EQ(take_number<double>(text), 1.25);
  EXPECT_EQ(text, ", 3");
  EXPECT_EQ(take_number<double>(text), std::nullopt);
  EXPECT_EQ(text, ", 3");
}

}  // namespace
}  // namespace lemma
