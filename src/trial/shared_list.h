// A list that never changes and that several owners share: copies cost nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace kforge::trial {

template <class T>
class SharedList {
 public:
  using value_type = T;

  SharedList() = default;
  SharedList(std::vector<T> list) : list_(std::make_shared<const std::vector<T>>(std::move(list))) {}

  const T* data() const { return list_ ? list_->data() : nullptr; }
  std::size_t size() const { return list_ ? list_->size() : 0; }
  bool empty() const { return size() == 0; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](std::size_t i) const { return (*list_)[i]; }

 private:
  std::shared_ptr<const std::vector<T>> list_;
};

using SharedBytes = SharedList<std::byte>;

}  // namespace kforge::trial
