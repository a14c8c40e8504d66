// What the cells of the clock engine remember. All lanes of a warp instruction have block, warp, time and place in common: that is a
// request, kept once, with a count of those that name it. A cell that remembers one lane of one request, or some neighbours, as most do,
// is four bytes; others name a list. So a word of memory that is read and written costs some nine bytes of shadow.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulator/race_knowledge.h"

namespace kforge::emulator {

// An access that a cell remembers, as it is looked at.
struct AccessRecord {
  std::uint32_t block = 0, warp = 0, lanes = 0;
  RaceTime time = 0;
  std::uint32_t location = 0;
  bool update = false;      // of an atomic: its place among those of the cell is its place in the location's order of writes
  bool own_block = false;   // strong for threads of its own block only (scope .cta)
};

// One lane of one request, or 2, 4, 8, 16 or 32 neighbours: kOneRequest, their count, the first of them, the request. Or the first item of
// a list; 0: no access.
struct RecordCell {
  static constexpr std::uint32_t kOneRequest = 1u << 31, kCountAt = 28, kFirstAt = 23;
  std::uint32_t bits = 0;

  static std::uint32_t first_of(std::uint32_t lanes) { return static_cast<std::uint32_t>(std::countr_zero(lanes)); }
  static std::uint32_t one_request(std::uint32_t request, std::uint32_t lanes) {
    const auto count = static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint32_t>(std::popcount(lanes))));
    return kOneRequest | count << kCountAt | first_of(lanes) << kFirstAt | request;
  }
  static bool fits(std::uint32_t request, std::uint32_t lanes) {
    const std::uint64_t run = std::uint64_t{lanes >> first_of(lanes)} + 1;
    return request >> kFirstAt == 0 && (run & (run - 1)) == 0 && std::has_single_bit(static_cast<std::uint32_t>(std::popcount(lanes)));
  }
  bool empty() const { return bits == 0; }
  bool is_one_request() const { return (bits & kOneRequest) != 0; }
  std::uint32_t request() const { return bits & ((1u << kFirstAt) - 1); }
  std::uint32_t lanes() const { return static_cast<std::uint32_t>(((std::uint64_t{1} << (1u << (bits >> kCountAt & 7))) - 1) << (bits >> kFirstAt & 31)); }
};

class RecordPool {
 public:
  // Whether f(record) holds for one of the cell's accesses, the newest first.
  template <class F>
  bool any(RecordCell cell, F f) const {
    if (cell.is_one_request()) return f(look_at(cell.request(), cell.lanes()));
    for (std::uint32_t at = cell.bits; at != 0; at = items_[at].next)
      if (f(look_at(items_[at].request, items_[at].lanes))) return true;
    return false;
  }
  template <class F>
  void visit(RecordCell cell, F f) const {
    any(cell, [&](const AccessRecord& record) { return f(record), false; });
  }
  // keep(record), the newest first: false forgets it. It may change the lanes, nothing else.
  template <class F>
  void filter(RecordCell& cell, F keep) {
    if (cell.is_one_request()) {
      AccessRecord record = look_at(cell.request(), cell.lanes());
      if (!keep(record)) return clear(cell);
      if (record.lanes != cell.lanes()) name(std::exchange(cell, {}).request(), record.lanes, cell);
      return;
    }
    for (std::uint32_t* link = &cell.bits; *link != 0;) {
      Item& item = items_[*link];
      AccessRecord record = look_at(item.request, item.lanes);
      if (!keep(record)) {
        free_item(*link);
        continue;
      }
      item.lanes = record.lanes;
      link = &item.next;
    }
    shorten(cell);
  }
  // As the newest.
  void add(RecordCell& cell, const AccessRecord& record);
  void clear(RecordCell& cell);
  std::uint64_t bytes() const { return requests_.capacity() * sizeof(Request) + items_.capacity() * sizeof(Item); }

 private:
  struct Request {
    std::uint32_t block = 0;        // free ones: the next free one
    RaceTime time = 0;
    std::uint32_t place = 0;        // location:20 warp:10 update:1 own_block:1
    std::uint32_t users = 0;        // cells and items that name it; 0: free
  };
  struct Item { std::uint32_t request = 0, lanes = 0, next = 0; };   // next: an older one, or of free ones the next

  AccessRecord look_at(std::uint32_t request, std::uint32_t lanes) const {
    const Request& r = requests_[request];
    return {r.block, r.place >> 2 & 1023, lanes, r.time, r.place >> 12, (r.place & 2) != 0, (r.place & 1) != 0};
  }
  // In an empty cell, or as the newest of its list.
  void name(std::uint32_t request, std::uint32_t lanes, RecordCell& cell);
  void shorten(RecordCell& cell);   // a list of one item, where it can do without
  std::uint32_t use_request(const AccessRecord& record);
  void leave_request(std::uint32_t request);
  std::uint32_t add_item(Item item);
  void free_item(std::uint32_t& link);   // out of its list

  std::vector<Request> requests_{Request{}};   // index 0 is never used, nor are items_[0]
  std::vector<Item> items_{Item{}};
  std::uint32_t free_requests_ = 0, free_items_ = 0;
  std::array<std::uint32_t, 64> recent_{};
};

}  // namespace kforge::emulator
