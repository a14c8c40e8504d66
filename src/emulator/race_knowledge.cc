#include "emulator/race_knowledge.h"

#include <algorithm>

namespace kforge::emulator {
namespace {

using Entries = std::vector<KnowledgeEntry>;
using Place = Entries::const_iterator;

bool same_place(const KnowledgeEntry& a, const KnowledgeEntry& b) { return a.block == b.block && a.warp == b.warp; }
bool before(const KnowledgeEntry& a, const KnowledgeEntry& b) {
  return a.block != b.block ? a.block < b.block : a.warp < b.warp;
}

// The entries of one warp at `a` and `b`, of which either may be none: each lane with its latest time, unless that is `known` of the whole block.
void join_warp(Place& a, Place a_end, Place& b, Place b_end, RaceTime known, Entries& out) {
  const KnowledgeEntry place = b == b_end || (a != a_end && !before(*b, *a)) ? *a : *b;
  std::uint32_t taken = 0;
  for (;;) {
    const bool from_a = a != a_end && same_place(*a, place), from_b = b != b_end && same_place(*b, place);
    if (!from_a && !from_b) return;
    const KnowledgeEntry& next = !from_b || (from_a && a->time >= b->time) ? *a++ : *b++;
    const std::uint32_t lanes = next.lanes & ~taken;
    if (lanes == 0 || next.time <= known) continue;
    taken |= lanes;
    if (!out.empty() && same_place(out.back(), next) && out.back().time == next.time) out.back().lanes |= lanes;
    else out.push_back({next.block, next.warp, lanes, next.time});
  }
}

// All that either says, into `out`.
void join_all(const Entries& left, const Entries& right, Entries& out) {
  out.clear();
  Place a = left.begin(), b = right.begin();
  while (a != left.end() || b != right.end()) {
    const std::uint32_t block = b == right.end() || (a != left.end() && a->block <= b->block) ? a->block : b->block;
    RaceTime known = 0;
    bool whole = false;
    for (auto* const side : {&a, &b}) {
      const Place end = side == &a ? left.end() : right.end();
      if (*side == end || (*side)->block != block || (*side)->warp != KnowledgeEntry::kWholeBlock) continue;
      known = std::max(known, (*side)->time);
      whole = true;
      ++*side;
    }
    if (whole) out.push_back({block, KnowledgeEntry::kWholeBlock, 0, known});
    while ((a != left.end() && a->block == block) || (b != right.end() && b->block == block)) join_warp(a, left.end(), b, right.end(), known, out);
  }
}

}  // namespace

std::uint32_t Knowledge::known(std::uint32_t block, std::uint32_t warp, std::uint32_t lanes, RaceTime time) const {
  if (body_ == nullptr) return 0;
  const auto& entries = body_->entries;
  auto entry = std::lower_bound(entries.begin(), entries.end(), block,
                                [](const KnowledgeEntry& e, std::uint32_t wanted) { return e.block < wanted; });
  std::uint32_t found = 0;
  for (; entry != entries.end() && entry->block == block && entry->warp <= warp + 1; ++entry) {
    if (entry->time < time) continue;
    if (entry->warp == KnowledgeEntry::kWholeBlock) return lanes;
    if (entry->warp == warp + 1) found |= entry->lanes;
  }
  return found & lanes;
}

void Knowledge::join(const Knowledge& other) {
  if (other.body_ == nullptr || body_ == other.body_) return;
  if (body_ == nullptr) {
    *this = other;
    return;
  }
  Entries out;
  out.reserve(body_->entries.size() + other.body_->entries.size());
  join_all(body_->entries, other.body_->entries, out);
  if (out == body_->entries) return;
  if (out == other.body_->entries) {
    *this = other;
    return;
  }
  if (body_->users == 1) body_->entries = std::move(out);
  else *this = Knowledge(new Body{std::move(out), 1});
}

}  // namespace kforge::emulator
