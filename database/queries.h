#pragma once
// The queries of a job, answered on all ranks and threads.
//
// A job asks the same queries on all ranks, in the same order, and goes on with the same answers.
// Who answers a query is decided when somebody has nothing to do; so neither ranks nor threads wait
// for each other as long as there is something to find out, now or ahead. Answers are kept in the
// journal: the first rank's is a file, into which answers of all ranks go when they are found.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "database/answer_journal.h"
#include "ranks/ranks.h"

namespace lemma::database {

struct MemoizedQuery {
  /// The key of everything that the answer depends on (AnswerJournal::key()).
  std::string key;
  /// The answer. It may be called on any thread, at any time until MemoizedQueries is gone; what is asked
  /// ahead may be called long after ask() has returned.
  std::function<std::string()> find_out;
};

class MemoizedQueries {
 public:
  /// `threads`: 0 for as many as there are processors. `cancelled` may be empty. The journal of the
  /// first rank becomes that of all.
  MemoizedQueries(AnswerJournal& journal, ranks::Ranks& ranks, int threads,
                  std::function<bool()> cancelled);
  MemoizedQueries(const MemoizedQueries&) = delete;
  MemoizedQueries& operator=(const MemoizedQueries&) = delete;
  /// Waits for what is being found out here.
  ~MemoizedQueries();
  /// Shares the journal among ranks. To be called first.
  Result<void> share_journal();

  /// The answers, in order. An error is that of the rank that ended the job; nothing is being found
  /// out here any more then.
  Result<std::vector<std::string>> ask(std::vector<MemoizedQuery> queries);
  /// Says what may be found out by those who are free while others work on what is asked: it will
  /// probably be asked later, in this order. It replaces what was said before.
  void look_ahead(std::vector<MemoizedQuery> queries);
  /// Begins nothing more that was only ahead, waits for what is being found out on this rank, and then
  /// for the others; what queries refer to may go afterwards.
  Result<void> settle();

  /// Threads of all ranks that answer.
  std::size_t workers() const { return workers_.size() * ranks_.size(); }

 private:
  using List = std::shared_ptr<const std::vector<MemoizedQuery>>;

  Result<void> wait_for_answers(const List& list);
  /// Waits for what is being found out on this rank, and forgets the rest.
  void abandon();
  void work();
  void work_alone();
  bool is_claimable() const;
  void claim(std::unique_lock<std::mutex>& lock);
  void answer(std::unique_lock<std::mutex>& lock, const MemoizedQuery& query);
  void take_answer(const std::string& bytes);
  void end_with(const Error& error);
  Result<void> check() const;
  Result<std::vector<std::string>> answers_to(const std::vector<MemoizedQuery>& queries) const;
  std::vector<std::string> open_keys(const std::vector<MemoizedQuery>& queries) const;

  AnswerJournal& journal_;
  ranks::Ranks& ranks_;
  std::function<bool()> cancelled_;

  mutable std::mutex mutex_;
  std::condition_variable work_, changed_;
  List wanted_, ahead_;
  bool all_claimed_ = true;             // there is nothing to claim until ask() says so
  bool is_claiming_ = false;            // one thread is
  std::size_t busy_ = 0;                // threads that find something out
  std::deque<MemoizedQuery> assigned_;  // to this rank, and not begun
  bool ended_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace lemma::database
