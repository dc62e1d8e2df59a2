// Journals: what wrappers were bound to when a block began, which its end gives.
//
// One may be put aside for a while, in which wrappers are bound to what they are outside of it;
// what they are bound to then is what they are outside.
#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>

#include "bind/rebinding.h"

namespace tensorlike::bind {
namespace {

// Wrappers older than itself, and what they were bound to when it began; while it is aside, what
// they are bound to inside of it.
struct Journal {
  uint64_t number;
  uint64_t births;  // 0: of what is bound anew inside it notes nothing
  Bindings entries;
  bool is_aside = false;

  bool notes(PyObject* wrapper) const { return !is_aside && births >= born(wrapper); }

  // From here on wrappers are bound to what they are outside.
  void put_aside() {
    if (std::exchange(is_aside, true)) return;
    std::for_each(entries.rbegin(), entries.rend(), exchange_bound);
  }
  // And to what they are inside: what they were bound to meanwhile is what they are outside.
  void take_back() {
    if (std::exchange(is_aside, false))
      std::for_each(entries.begin(), entries.end(), exchange_bound);
  }

 private:
  static void exchange_bound(Bindings::value_type& entry) {
    Ref<Value> now(value_of(entry.first.get()));
    rebind_unnoted(entry.first.get(), std::exchange(entry.second, std::move(now)));
  }
};

// Those that are open in a thread.
struct Journals {
  std::vector<Journal> open;
  Journals();
  ~Journals();
};

// Those of all threads, under a lock of their own: a thread may end without the GIL.
struct Threads {
  std::mutex changes;
  std::vector<Journals*> all;
  std::vector<Journal> left;  // open ones of threads that have ended

  static Threads& instance() {
    static Threads& instance = *new Threads;
    return instance;
  }
};

Journals::Journals() {
  Threads& threads = Threads::instance();
  const std::lock_guard<std::mutex> lock(threads.changes);
  threads.all.push_back(this);
}

Journals::~Journals() {
  Threads& threads = Threads::instance();
  const std::lock_guard<std::mutex> lock(threads.changes);
  std::erase(threads.all, this);
  std::move(open.begin(), open.end(), std::back_inserter(threads.left));
}

Journals& mine() {
  static thread_local Journals instance;
  return instance;
}

// Those of all threads, under the GIL: where there are none nothing is looked up.
int64_t journals_going_on = 0;

}  // namespace

void rebind_all(const Bindings& bindings) {
  std::exception_ptr failure;
  for (size_t i = bindings.size(); i-- > 0;) {
    try {
      rebind(bindings[i].first.get(), bindings[i].second);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

namespace {

uint64_t begin(uint64_t births, Bindings entries) {
  static uint64_t last = 0;  // under the GIL
  keep_finalizers_outside();
  mine().open.push_back({++last, births, std::move(entries)});
  ++journals_going_on;
  return last;
}

// Does something to the vector that a journal is in, and to its place there.
template <class F>
void with_journal(uint64_t number, F&& act) {
  const auto is_it = [&](const Journal& journal) { return journal.number == number; };
  const auto look = [&](std::vector<Journal>& journals) {
    const auto found = std::find_if(journals.begin(), journals.end(), is_it);
    if (found == journals.end()) return false;
    act(journals, found);
    return true;
  };
  if (look(mine().open)) return;
  Threads& threads = Threads::instance();  // whoever ends it is not who began
  const std::lock_guard<std::mutex> lock(threads.changes);
  if (look(threads.left)) return;
  std::any_of(threads.all.begin(), threads.all.end(),
              [&](Journals* other) { return look(other->open); });
}

}  // namespace

uint64_t begin_journal() { return begin(births(), {}); }
uint64_t begin_holding(Bindings own) { return begin(0, std::move(own)); }

Bindings end_journal(uint64_t number) {
  Journal ended{};
  with_journal(number, [&](std::vector<Journal>& journals, auto found) {
    ended = std::move(*found);
    journals.erase(found);
    --journals_going_on;
  });
  ended.take_back();
  return std::move(ended.entries);
}

Bindings journal_entries(uint64_t number) {
  Bindings entries;
  with_journal(number, [&](std::vector<Journal>&, auto found) {
    found->take_back();
    entries = found->entries;
  });
  return entries;
}

bool is_as_before(uint64_t number, PyObject* wrapper) {
  bool is_it = false;
  with_journal(number, [&](std::vector<Journal>&, auto found) {
    is_it = found->births >= born(wrapper) &&
            std::none_of(found->entries.begin(), found->entries.end(),
                         [&](const auto& entry) { return entry.first.get() == wrapper; });
  });
  return is_it;
}

std::vector<uint64_t> put_journals_aside() {
  std::vector<uint64_t> numbers;
  std::vector<Journal>& journals = mine().open;
  for (size_t i = journals.size(); i-- > 0;) {
    if (journals[i].is_aside) continue;
    numbers.push_back(journals[i].number);
    journals[i].put_aside();
  }
  return numbers;
}

void take_journals_back(const std::vector<uint64_t>& numbers) {
  for (size_t i = numbers.size(); i-- > 0;) {
    with_journal(numbers[i], [](std::vector<Journal>&, auto found) { found->take_back(); });
  }
}

void note_in_journals(PyObject* wrapper) {
  if (journals_going_on == 0) return;
  for (Journal& journal : mine().open) {
    if (!journal.notes(wrapper)) continue;
    const auto is_it = [&](const auto& entry) { return entry.first.get() == wrapper; };
    if (std::any_of(journal.entries.begin(), journal.entries.end(), is_it)) continue;
    journal.entries.emplace_back(Object::share(wrapper), Ref<Value>(value_of(wrapper)));
  }
}

bool is_noted(PyObject* wrapper) {
  if (journals_going_on == 0) return false;
  const std::vector<Journal>& journals = mine().open;
  return std::any_of(journals.begin(), journals.end(),
                     [&](const Journal& journal) { return journal.notes(wrapper); });
}

}  // namespace tensorlike::bind
