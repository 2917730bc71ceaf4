#include "database/queries.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "database/build.h"
#include "ranks/packing.h"
#include "system/parallel.h"

namespace lemma::database {
namespace {

using Seconds = std::chrono::duration<double>;

}  // namespace

MemoizedQueries::MemoizedQueries(AnswerJournal& journal, ranks::Ranks& ranks, int threads,
                                 std::function<bool()> cancelled)
    : journal_(journal),
      ranks_(ranks),
      cancelled_(std::move(cancelled)),
      wanted_(std::make_shared<std::vector<MemoizedQuery>>()),
      ahead_(wanted_) {
  ranks_.listen([this](const std::string& bytes) { take_answer(bytes); });
  for (int i = 0; i < count_of_threads(threads); ++i) workers_.emplace_back([this] { work(); });
}

MemoizedQueries::~MemoizedQueries() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  work_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  ranks_.listen(nullptr);
}

Result<void> MemoizedQueries::share_journal() {
  std::string bytes;
  if (ranks_.is_first()) {
    for (const auto& [key, answer] : journal_.all()) {
      ranks::append_text(bytes, key);
      ranks::append_text(bytes, answer);
    }
  }
  LEMMA_ASSIGN_OR_RETURN(bytes, ranks_.broadcast(bytes));
  if (ranks_.is_first()) return {};
  for (ranks::Reader reader(bytes); !reader.is_at_end();) {
    const std::string key = reader.text();
    LEMMA_RETURN_IF_ERROR(journal_.add(key, reader.text()));
  }
  return {};
}

Result<std::vector<std::string>> MemoizedQueries::ask(std::vector<MemoizedQuery> queries) {
  const auto list = std::make_shared<const std::vector<MemoizedQuery>>(std::move(queries));
  if (auto answered = wait_for_answers(list); !answered) {
    abandon();
    return tl::unexpected<Error>(std::move(answered.error()));
  }
  return answers_to(*list);
}

Result<void> MemoizedQueries::wait_for_answers(const List& list) {
  const auto is_open = [this](const MemoizedQuery& query) { return !journal_.knows(query.key); };
  std::unique_lock lock(mutex_);
  LEMMA_RETURN_IF_ERROR(check());
  if (std::none_of(list->begin(), list->end(), is_open)) return {};
  wanted_ = list;
  all_claimed_ = false;
  work_.notify_all();
  // What no change tells of is a signal, or that another rank has ended the job.
  while (std::any_of(list->begin(), list->end(), is_open)) {
    changed_.wait_for(lock, Seconds(0.02));
    LEMMA_RETURN_IF_ERROR(check());
  }
  return {};
}

Result<std::vector<std::string>> MemoizedQueries::answers_to(
    const std::vector<MemoizedQuery>& queries) const {
  std::vector<std::string> answers;
  for (const MemoizedQuery& query : queries) answers.push_back(*journal_.find(query.key));
  return answers;
}

void MemoizedQueries::look_ahead(std::vector<MemoizedQuery> queries) {
  const std::lock_guard lock(mutex_);
  ahead_ = std::make_shared<const std::vector<MemoizedQuery>>(std::move(queries));
}

Result<void> MemoizedQueries::settle() {
  {
    std::unique_lock lock(mutex_);
    wanted_ = ahead_ = std::make_shared<const std::vector<MemoizedQuery>>();
    all_claimed_ = true;
    while (busy_ > 0 || is_claiming_ || !assigned_.empty()) {
      changed_.wait_for(lock, Seconds(0.02));
      LEMMA_RETURN_IF_ERROR(check());
    }
  }
  LEMMA_RETURN_IF_ERROR(ranks_.gather(""));
  return {};
}

void MemoizedQueries::abandon() {
  std::unique_lock lock(mutex_);
  wanted_ = ahead_ = std::make_shared<const std::vector<MemoizedQuery>>();
  all_claimed_ = true;
  assigned_.clear();
  while (busy_ > 0 || is_claiming_) {
    changed_.wait_for(lock, Seconds(0.02));
    assigned_.clear();
  }
}

/// The error that ends the job, if there is one.
Result<void> MemoizedQueries::check() const {
  if (auto error = ranks_.stopped()) return tl::unexpected<Error>(std::move(*error));
  if (!cancelled_ || !cancelled_()) return {};
  const Error error{ErrorKind::bad_input, std::string(interrupted)};
  ranks_.stop(error);
  return tl::unexpected<Error>(error);
}

// ---- On the workers' threads ------------------------------------------------------------------------

void MemoizedQueries::work() {
  // What a query does in parallel it does alone here: there are as many workers as wanted.
  with_threads(1, [this] { work_alone(); });
}

void MemoizedQueries::work_alone() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return ended_ || !assigned_.empty() || is_claimable(); });
    if (ended_ || !check()) return changed_.notify_all();
    if (assigned_.empty()) {
      claim(lock);
      continue;
    }
    const MemoizedQuery query = std::move(assigned_.front());
    assigned_.pop_front();
    answer(lock, query);
  }
}

bool MemoizedQueries::is_claimable() const { return !all_claimed_ && !is_claiming_; }

std::vector<std::string> MemoizedQueries::open_keys(
    const std::vector<MemoizedQuery>& queries) const {
  std::vector<std::string> keys;
  for (const MemoizedQuery& query : queries)
    if (!journal_.knows(query.key)) keys.push_back(query.key);
  return keys;
}

void MemoizedQueries::claim(std::unique_lock<std::mutex>& lock) {
  const List wanted = wanted_, ahead = ahead_;
  // Of what is wanted the last is begun first: it takes longest.
  ranks::Claim claim{open_keys(*wanted), {}, 4 * workers()};
  std::reverse(claim.wanted.begin(), claim.wanted.end());
  // When all has been answered the next queries are about to come.
  if (!claim.wanted.empty()) claim.ahead = open_keys(*ahead);
  is_claiming_ = true;
  lock.unlock();
  const auto mine = ranks_.claim(claim);
  lock.lock();
  is_claiming_ = false;
  if (!mine) return end_with(mine.error());
  if (mine->empty() && wanted == wanted_ && ahead == ahead_) all_claimed_ = true;
  for (const std::size_t i : *mine) {
    const bool is_wanted = i < claim.wanted.size();
    const std::string& key = is_wanted ? claim.wanted[i] : claim.ahead[i - claim.wanted.size()];
    const List& list = is_wanted ? wanted : ahead;
    assigned_.push_back(
        *std::find_if(list->begin(), list->end(),
                      [&key](const MemoizedQuery& query) { return query.key == key; }));
  }
  work_.notify_all();
  changed_.notify_all();
}

void MemoizedQueries::answer(std::unique_lock<std::mutex>& lock, const MemoizedQuery& query) {
  ++busy_;
  lock.unlock();
  std::string answer;
  std::optional<Error> error;
  try {
    answer = query.find_out();
    if (auto added = journal_.add(query.key, answer); !added) error = added.error();
  } catch (const std::exception& fault) {
    error = Error{ErrorKind::internal, std::string("internal fault: ") + fault.what()};
  }
  std::string bytes;
  ranks::append_text(bytes, query.key);
  bytes += answer;
  if (!error && ranks_.size() > 1) ranks_.tell(bytes);
  lock.lock();
  --busy_;
  if (error) end_with(*error);
  changed_.notify_all();
}

void MemoizedQueries::end_with(const Error& error) {
  ranks_.stop(error);
  changed_.notify_all();
}

/// On the thread of the ranks.
void MemoizedQueries::take_answer(const std::string& bytes) {
  ranks::Reader reader(bytes);
  const std::string key = reader.text();
  const auto added = journal_.add(key, reader.rest());
  const std::lock_guard lock(mutex_);
  if (!added) end_with(added.error());
  changed_.notify_all();
}

}  // namespace lemma::database
