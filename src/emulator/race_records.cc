#include "emulator/race_records.h"

#include <utility>

namespace kforge::emulator {
namespace {

// A quarter more at a time: twice as much would be most of what is kept.
template <class T>
void push(std::vector<T>& to, const T& value) {
  if (to.size() == to.capacity()) to.reserve(to.size() + to.size() / 4 + 16);
  to.push_back(value);
}

}  // namespace

std::uint32_t RecordPool::use_request(const AccessRecord& record) {
  const std::uint32_t place = record.location << 12 | record.warp << 2 | static_cast<std::uint32_t>(record.update) << 1 | static_cast<std::uint32_t>(record.own_block);
  std::uint32_t& recent = recent_[((place >> 2) * 0x9e3779b9u ^ record.block * 0x85ebca6bu) >> 26];
  Request& known = requests_[recent];
  if (known.users != 0 && known.place == place && known.block == record.block && known.time == record.time) {
    ++known.users;
    return recent;
  }
  const Request fresh{record.block, record.time, place, 1};
  if (free_requests_ != 0) {
    recent = free_requests_;
    free_requests_ = std::exchange(requests_[recent], fresh).block;
    return recent;
  }
  push(requests_, fresh);
  return recent = static_cast<std::uint32_t>(requests_.size() - 1);
}

void RecordPool::leave_request(std::uint32_t request) {
  Request& r = requests_[request];
  if (--r.users == 0) r.block = std::exchange(free_requests_, request);
}

std::uint32_t RecordPool::add_item(Item item) {
  if (free_items_ != 0) {
    const std::uint32_t index = free_items_;
    free_items_ = std::exchange(items_[index], item).next;
    return index;
  }
  push(items_, item);
  return static_cast<std::uint32_t>(items_.size() - 1);
}

void RecordPool::free_item(std::uint32_t& link) {
  const std::uint32_t index = std::exchange(link, items_[link].next);
  leave_request(items_[index].request);
  items_[index].next = std::exchange(free_items_, index);
}

void RecordPool::name(std::uint32_t request, std::uint32_t lanes, RecordCell& cell) {
  cell.bits = cell.empty() && RecordCell::fits(request, lanes) ? RecordCell::one_request(request, lanes) : add_item({request, lanes, cell.bits});
}

void RecordPool::shorten(RecordCell& cell) {
  const std::uint32_t index = cell.bits;
  Item& item = items_[index];
  if (index == 0 || item.next != 0 || !RecordCell::fits(item.request, item.lanes)) return;
  cell.bits = RecordCell::one_request(item.request, item.lanes);
  item.next = std::exchange(free_items_, index);
}

void RecordPool::add(RecordCell& cell, const AccessRecord& record) {
  const std::uint32_t request = use_request(record);
  if (cell.is_one_request()) cell.bits = add_item({cell.request(), cell.lanes(), 0});
  name(request, record.lanes, cell);
}

void RecordPool::clear(RecordCell& cell) {
  if (cell.is_one_request()) leave_request(cell.request());
  else
    while (cell.bits != 0) free_item(cell.bits);
  cell.bits = 0;
}

}  // namespace kforge::emulator
