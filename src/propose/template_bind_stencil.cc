// Binder of 2-D stencils: one image read at fixed offsets around the output's element, or around every second or third one (pools, strided
// convolutions: the image may have other extents than the output), clamped at the borders or guarded by conditions, leading dimensions being a
// batch. Where a condition guards a read, what lies outside of the image is read clamped and not used.
#include <algorithm>

#include <fmt/format.h>

#include "propose/template_binding.h"
#include "propose/template_emit.h"
#include "propose/template_rows.h"
#include "propose/template_stencil.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

constexpr std::int64_t kMaxStencilStride = 8;

struct Halo {
  std::int64_t left = 0, right = 0, above = 0, below = 0;
};

class Stencil {
 public:
  Stencil(const Computation& computation, const std::vector<std::string>& taken) : task_(computation.task), store_(computation.lifted->stores[0]), names_(task_, taken) {}

  std::optional<Binding> make() {
    const auto index = plain_index(store_.index);
    if (store_.adds || !covers_tensor(store_, task_) || !index || index->size() < 2 || tensor_of(task_, store_.tensor).role != task::Role::out) return std::nullopt;
    index_ = *index;
    extents_ = extents_of(tensor_of(task_, store_.tensor));
    if (std::any_of(index_.begin(), index_.end(), [](const std::string& i) { return i.empty(); }) || !read(store_.value) || !place_image()) return std::nullopt;
    if (halo_.left + halo_.right + halo_.above + halo_.below == 0 && stride_y_ * stride_x_ == 1) return std::nullopt;
    return binding();
  }

 private:
  bool read(const TermPtr& t) {
    if (t->kind == Kind::reduce || t->kind == Kind::arg_reduce || t->kind == Kind::scan || t->kind == Kind::carried) return false;
    if (t->kind == Kind::index) return t->text == index_.back() || t->text == index_[index_.size() - 2];
    if (t->kind != Kind::load) return std::all_of(t->args.begin(), t->args.end(), [&](const TermPtr& arg) { return read(arg); });
    return add_load(t);
  }

  bool add_load(const TermPtr& load) {
    const std::string key = key_of(load);
    if (places_.contains(key)) return true;
    const auto& tensor = tensor_of(task_, load->text);
    if (!is_row_major(tensor)) return false;
    const bool constant = std::all_of(load->args.begin(), load->args.end(), [](const TermPtr& i) { return integer_of(i).has_value(); });
    if (constant) return add_constant(load, key);
    const auto own = extents_of(tensor);
    const std::size_t n = own.size();
    if (n != extents_.size()) return false;
    for (std::size_t k = 0; k + 2 < n; ++k)
      if (load->args[k]->kind != Kind::index || load->args[k]->text != index_[k] || !same_extent(own[k], extents_[k])) return false;
    const auto y = stencil_place(load->args[n - 2], index_[n - 2], own[n - 2]), x = stencil_place(load->args[n - 1], index_[n - 1], own[n - 1]);
    if (!y || !x || std::max(std::abs(y->offset), std::abs(x->offset)) > kMaxStencilRadius || std::max(y->stride, x->stride) > kMaxStencilStride) return false;
    const bool is_element = y->offset == 0 && x->offset == 0 && y->stride == 1 && x->stride == 1 && same_extent(own[n - 2], extents_[n - 2]) && same_extent(own[n - 1], extents_[n - 1]);
    if (!is_element && !image_.empty() && load->text != image_) return false;
    if (!is_element) image_ = load->text;
    reads_.push_back({key, load->text, *y, *x});
    places_[key] = "";
    return true;
  }
  // The one tensor of which more than the element itself is read; others are read where the output is written.
  bool place_image() {
    if (image_.empty()) return false;
    const auto first = std::find_if(reads_.begin(), reads_.end(), [&](const Read& r) { return r.tensor == image_; });
    stride_y_ = first->y.stride, stride_x_ = first->x.stride;
    for (const Read& read : reads_) {
      if (read.tensor != image_) {
        places_[read.key] = loaded(names_(read.tensor) + "[at]", tensor_of(task_, read.tensor).dtype);
        continue;
      }
      if (read.y.stride != stride_y_ || read.x.stride != stride_x_) return false;
      halo_.left = std::max(halo_.left, -read.x.offset), halo_.right = std::max(halo_.right, read.x.offset);
      halo_.above = std::max(halo_.above, -read.y.offset), halo_.below = std::max(halo_.below, read.y.offset);
    }
    return true;
  }
  bool add_constant(const TermPtr& load, const std::string& key) {
    auto constant = constant_load(task_, names_, load);
    if (!constant) return false;
    uniform_.push_back(std::move(constant->definition));
    places_[key] = std::move(constant->name);
    return true;
  }

  std::optional<Binding> binding() {
    Binding out = common_binding(task_, names_);
    const auto dtype = tensor_of(task_, image_).dtype;
    for (const Read& read : reads_)
      if (read.tensor == image_)
        places_[read.key] = loaded(fmt::format("tile[r * kStrideY + {}][place_of(c * kStrideX + {})]", halo_.above + read.y.offset, halo_.left + read.x.offset), dtype);
    const std::string row = index_[index_.size() - 2], column = index_.back();
    const EmitNames emit_names{[&](const std::string& name) { return names_(name); },
                               [&](const TermPtr& t) -> std::string {
                                 if (t->kind == Kind::load) return places_.at(key_of(t));
                                 if (t->kind == Kind::index) return t->text == row ? "row" : "column";
                                 return {};
                               }, "t"};
    const EmittedTerms emitted = emit({store_.value}, task_, emit_names);
    const auto& target = tensor_of(task_, store_.tensor);
    out.texts["inside"] = lines(emitted.statements, 6);
    out.texts["value"] = stored(emitted.values[0], target.dtype);
    out.texts["uniform_loads"] = lines(uniform_, 2);
    out.texts["in"] = names_(image_);
    out.texts["in_type"] = task::cuda_type(dtype);
    out.texts["out"] = names_(target.name);
    const std::size_t n = extents_.size();
    out.texts["batches"] = extent_text(product_of({extents_.begin(), extents_.end() - 2}), task_, names_);
    out.texts["rows"] = extent_text(extents_[n - 2], task_, names_);
    out.texts["columns"] = extent_text(extents_[n - 1], task_, names_);
    out.texts["left"] = std::to_string(halo_.left), out.texts["right"] = std::to_string(halo_.right);
    out.texts["above"] = std::to_string(halo_.above), out.texts["below"] = std::to_string(halo_.below);
    const auto image_extents = extents_of(tensor_of(task_, image_));
    out.texts["image_rows"] = extent_text(image_extents[n - 2], task_, names_);
    out.texts["image_columns"] = extent_text(image_extents[n - 1], task_, names_);
    out.texts["stride_y"] = std::to_string(stride_y_), out.texts["stride_x"] = std::to_string(stride_x_);
    out.numbers["stride_y"] = number_term(stride_y_);
    out.numbers["stride_x"] = number_term(stride_x_);
    out.numbers["batches"] = product_of({extents_.begin(), extents_.end() - 2});
    out.numbers["rows"] = extents_[n - 2];
    out.numbers["columns"] = extents_[n - 1];
    out.numbers["radius_x"] = number_term(std::max(halo_.left, halo_.right));
    out.numbers["radius_y"] = number_term(std::max(halo_.above, halo_.below));
    return out;
  }

  struct Read {
    std::string key, tensor;
    StencilPlace y, x;
  };
  const task::Task& task_;
  const LiftedStore& store_;
  FileNames names_;
  std::vector<std::string> index_;
  std::vector<TermPtr> extents_;
  std::string image_;
  Halo halo_;
  std::int64_t stride_y_ = 1, stride_x_ = 1;
  std::vector<Read> reads_;
  std::map<std::string, std::string> places_;
  std::vector<std::string> uniform_;
};

}  // namespace

std::optional<Binding> bind_stencil(const Computation& computation, const std::vector<std::string>& taken) {
  if (!computation.lifted || computation.lifted->stores.size() != 1) return std::nullopt;
  return Stencil(computation, taken).make();
}

}  // namespace kforge::propose
