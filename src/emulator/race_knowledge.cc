#include "emulator/race_knowledge.h"

#include <algorithm>

namespace kforge::emulator {
namespace {

bool same_place(const KnowledgeEntry& a, const KnowledgeEntry& b) { return a.block == b.block && a.warp == b.warp; }
bool before(const KnowledgeEntry& a, const KnowledgeEntry& b) {
  return a.block != b.block ? a.block < b.block : a.warp < b.warp;
}

// Does `a` say all that `b` says? Both are of one block.
bool covers(const KnowledgeEntry& a, const KnowledgeEntry& b) {
  if (a.time < b.time) return false;
  if (a.warp == KnowledgeEntry::kWholeBlock) return true;
  return a.warp == b.warp && (b.lanes & ~a.lanes) == 0;
}

// Appends to `out`, whose entries of this block begin at `block_begin`, unless something there covers it.
void append(std::vector<KnowledgeEntry>& out, std::size_t& block_begin, const KnowledgeEntry& entry) {
  if (out.empty() || block_begin >= out.size() || out[block_begin].block != entry.block) {
    block_begin = out.size();
    out.push_back(entry);
    return;
  }
  if (out[block_begin].warp == KnowledgeEntry::kWholeBlock && covers(out[block_begin], entry)) return;
  for (std::size_t i = out.size(); i > block_begin && same_place(out[i - 1], entry); --i)
    if (covers(out[i - 1], entry)) return;
  // What it covers in turn; where times are equal lanes combine.
  KnowledgeEntry joined = entry;
  while (out.size() > block_begin && same_place(out.back(), joined) && out.back().time == joined.time) {
    joined.lanes |= out.back().lanes;
    out.pop_back();
  }
  std::size_t keep = out.size();
  while (keep > block_begin && same_place(out[keep - 1], joined)) --keep;
  out.erase(std::remove_if(out.begin() + static_cast<std::ptrdiff_t>(keep), out.end(),
                           [&](const KnowledgeEntry& old) { return covers(joined, old); }), out.end());
  out.push_back(joined);
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
  const auto& a = body_->entries;
  const auto& b = other.body_->entries;
  std::vector<KnowledgeEntry> out;
  out.reserve(a.size() + b.size());
  std::size_t block_begin = 0;
  for (std::size_t i = 0, k = 0; i < a.size() || k < b.size();) {
    const bool take_a = k == b.size() || (i < a.size() && !before(b[k], a[i]));
    append(out, block_begin, take_a ? a[i++] : b[k++]);
  }
  if (out == a) return;
  if (out == b) {
    *this = other;
    return;
  }
  if (body_->users == 1) body_->entries = std::move(out);
  else *this = Knowledge(new Body{std::move(out), 1});
}

}  // namespace kforge::emulator
