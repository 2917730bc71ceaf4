#include "system/journal.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "outputs/scratch.h"
#include "system/program.h"

namespace lemma {
namespace {

using Records = std::vector<std::string>;

class JournalTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "below" / "journal"; }
  std::string contents() const {
    std::ifstream stream(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& text) const { std::ofstream(file(), std::ios::binary) << text; }
  Records records(std::string_view job) const {
    auto journal = Journal::open(file(), job);
    return journal ? journal->take_records() : Records{"not opened"};
  }
  void add(const Records& records) const {
    auto journal = Journal::open(file(), "job");
    ASSERT_TRUE(journal);
    for (const std::string& record : records) ASSERT_TRUE(journal->add(record));
  }

  TemporaryDirectory folder_;
};

TEST_F(JournalTest, records_of_any_bytes_come_back_in_order) {
  const Records written = {"two\nlines, a \\ and a \\n", "", std::string("\0\r\n", 3), "last"};
  add(written);
  EXPECT_EQ(records("job"), written);
  add({"one more"});
  EXPECT_EQ(records("job").back(), "one more");
}

TEST_F(JournalTest, one_process_has_it) {
  auto journal = Journal::open(file(), "job");
  ASSERT_TRUE(journal);
  Journal moved = std::move(*journal);
  EXPECT_TRUE(moved.is_open());
  EXPECT_FALSE(Journal::open(file(), "job", std::chrono::milliseconds(50)));
  moved = Journal();
  EXPECT_TRUE(Journal::open(file(), "job"));
}

TEST_F(JournalTest, another_job_begins_anew) {
  add({"record"});
  EXPECT_EQ(records("other job"), Records());
  EXPECT_EQ(records("job"), Records());
}

TEST_F(JournalTest, a_file_of_another_program_stays) {
  for (const char* const text : {"notes of the user", "lemma notes", "{}"}) {
    std::filesystem::create_directories(file().parent_path());
    write(text);
    EXPECT_FALSE(may_be_journal(file()));
    EXPECT_FALSE(Journal::open(file(), "job"));
    EXPECT_EQ(contents(), text);
  }
}

TEST_F(JournalTest, a_journal_may_be_opened_where_one_is_or_nothing) {
  EXPECT_TRUE(may_be_journal(file()));
  add({"record"});
  EXPECT_TRUE(may_be_journal(file()));
  EXPECT_FALSE(may_be_journal(folder_.path()));
}

TEST_F(JournalTest, every_torn_end_is_cut_off) {
  add({"first", "second"});
  const std::string whole = contents();
  const std::size_t second = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_EQ(records("job"), size >= second ? Records{"first"} : Records()) << size;
    add(size >= second ? Records{"second"} : Records{"first", "second"});
    EXPECT_EQ(contents(), whole);
  }
}

TEST_F(JournalTest, a_changed_byte_is_not_believed) {
  add({"record"});
  const std::string whole = contents();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write(changed);
    EXPECT_EQ(records("job"), Records()) << i;
  }
}

TEST(Journal, one_that_is_not_open_keeps_nothing) {
  Journal journal;
  EXPECT_FALSE(journal.is_open());
  EXPECT_TRUE(journal.add("record"));
  EXPECT_FALSE(Journal::open("/dev/null/journal", "job"));
}

}  // namespace
}  // namespace lemma
