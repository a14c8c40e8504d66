// Binder of stencils that march: one image read at fixed offsets along the last two dimensions (a march through rows), or one cube along the
// last three (through planes). A `line` is a row at one offset across the march; its rows at several offsets along it stay in registers.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "propose/template_binding.h"
#include "propose/template_emit.h"
#include "propose/template_rows.h"
#include "propose/template_small.h"
#include "propose/template_stencil.h"

namespace kforge::propose {
namespace {

using Kind = Term::Kind;

// A row at `offset` lines, read from `lowest` to `highest` steps along the march, `before` and `after` columns beyond the element.
struct MarchLine {
  std::int64_t offset = 0, lowest = 0, highest = 0, before = 0, after = 0;
};

class March {
 public:
  // REQUIRES: the store has as many dimensions at least.
  March(const Computation& computation, const std::vector<std::string>& taken, std::size_t dimensions)
      : task_(computation.task), store_(computation.lifted->stores[0]), names_(task_, taken), dimensions_(dimensions), index_(*plain_index(store_.index)),
        extents_(extents_of(tensor_of(task_, store_.tensor))) {}

  std::optional<Binding> make() {
    if (!read(store_.value) || image_.empty() || reads_ < 2) return std::nullopt;
    // What does not leave the last two dimensions is an image.
    if (dimensions_ == 3 && std::all_of(taps_.begin(), taps_.end(), [](const auto& t) { return t.second.along == 0; })) return std::nullopt;
    return binding();
  }

 private:
  std::size_t rank() const { return extents_.size(); }
  const std::string& variable(std::size_t from_last) const { return index_[rank() - from_last]; }

  bool read(const TermPtr& t) {
    if (t->kind == Kind::reduce || t->kind == Kind::arg_reduce || t->kind == Kind::scan || t->kind == Kind::carried) return false;
    if (t->kind == Kind::index) {
      for (std::size_t k = 1; k <= dimensions_; ++k)
        if (t->text == variable(k)) return true;
      return false;
    }
    if (t->kind != Kind::load) return std::all_of(t->args.begin(), t->args.end(), [&](const TermPtr& arg) { return read(arg); });
    return add_load(t);
  }

  bool add_load(const TermPtr& load) {
    const std::string key = key_of(load);
    if (places_.contains(key) || taps_.contains(key)) return true;
    const auto& tensor = tensor_of(task_, load->text);
    if (!is_row_major(tensor)) return false;
    if (std::all_of(load->args.begin(), load->args.end(), [](const TermPtr& i) { return integer_of(i).has_value(); })) return add_constant(load, key);
    const auto own = extents_of(tensor);
    if (own.size() != rank() || !std::equal(own.begin(), own.end(), extents_.begin(), same_extent)) return false;
    for (std::size_t k = 0; k + dimensions_ < rank(); ++k)
      if (load->args[k]->kind != Kind::index || load->args[k]->text != index_[k]) return false;
    std::vector<std::int64_t> offsets;   // along the march first
    for (std::size_t k = rank() - dimensions_; k < rank(); ++k) {
      const auto offset = stencil_offset(load->args[k], index_[k], own[k]);
      if (!offset || std::abs(*offset) > kMaxStencilRadius) return false;
      offsets.push_back(*offset);
    }
    if (image_.empty()) image_ = load->text;
    if (load->text != image_) {
      if (std::any_of(offsets.begin(), offsets.end(), [](std::int64_t d) { return d != 0; })) return false;
      places_[key] = loaded(fmt::format("{}_pack.at[e]", names_(load->text)), tensor.dtype);
      if (std::find(others_.begin(), others_.end(), load->text) == others_.end()) others_.push_back(load->text);
      return true;
    }
    ++reads_;
    taps_[key] = {line_at(dimensions_ == 3 ? offsets[1] : 0, offsets[0], offsets.back()), offsets[0], offsets.back()};
    return true;
  }
  std::size_t line_at(std::int64_t offset, std::int64_t along, std::int64_t dx) {
    auto found = std::find_if(lines_.begin(), lines_.end(), [&](const MarchLine& l) { return l.offset == offset; });
    if (found == lines_.end()) found = lines_.insert(lines_.end(), {offset, along, along, 0, 0});
    found->lowest = std::min(found->lowest, along), found->highest = std::max(found->highest, along);
    found->before = std::max(found->before, -dx), found->after = std::max(found->after, dx);
    return static_cast<std::size_t>(found - lines_.begin());
  }
  bool add_constant(const TermPtr& load, const std::string& key) {
    auto constant = constant_load(task_, names_, load);
    if (!constant) return false;
    uniform_.push_back(std::move(constant->definition));
    places_[key] = std::move(constant->name);
    return true;
  }

  std::vector<std::int64_t> lowest() const {
    std::vector<std::int64_t> out;
    for (const MarchLine& line : lines_) out.push_back(line.lowest);
    return out;
  }

  void add_texts(Binding& out) const {
    const auto& target = tensor_of(task_, store_.tensor);
    const auto dtype = tensor_of(task_, image_).dtype;
    const EmitNames emit_names{[&](const std::string& name) { return names_(name); },
                               [&](const TermPtr& t) -> std::string {
                                 if (t->kind == Kind::index) return t->text == variable(1) ? "(column + e)" : t->text == variable(dimensions_) ? "plane" : "line";
                                 if (t->kind != Kind::load) return {};
                                 const auto tap = taps_.find(key_of(t));
                                 if (tap == taps_.end()) return places_.at(key_of(t));
                                 const Tap& own = tap->second;
                                 return loaded(fmt::format("line{}[{}].at(e + {})", own.line, own.along - lines_[own.line].lowest, own.dx), dtype);
                               }, "t"};
    const EmittedTerms emitted = emit({store_.value}, task_, emit_names);
    out.texts["inside"] = lines(emitted.statements, 6);
    out.texts["value"] = stored(emitted.values[0], target.dtype);
    out.texts["uniform_loads"] = lines(uniform_, 2);
  }

  // What is proven to be exact in halves; nothing for anything else.
  std::optional<SmallFormula> small() const {
    const bool bytes = tensor_of(task_, image_).dtype == task::Dtype::u8 && tensor_of(task_, store_.tensor).dtype == task::Dtype::u8;
    if (!bytes || !others_.empty() || !places_.empty()) return std::nullopt;
    return small_formula(store_.value, taps_, lowest());
  }

  Binding line_row(std::size_t l, const std::optional<SmallFormula>& exact) const {
    const MarchLine& line = lines_[l];
    Binding row;
    row.texts["type"] = fmt::format("Line{}", l);
    row.texts["name"] = fmt::format("line{}", l);
    row.texts["offset"] = std::to_string(line.offset);
    row.texts["lowest"] = std::to_string(line.lowest), row.texts["highest"] = std::to_string(line.highest);
    row.texts["depth"] = std::to_string(line.highest - line.lowest + 1);
    row.texts["before"] = std::to_string(line.before), row.texts["after"] = std::to_string(line.after);
    row.lists["filters"] = {};
    std::vector<std::string> filter_lines;
    for (std::size_t f = 0; exact && f < exact->filters[l].size(); ++f) {
      Binding filter;
      filter.texts["filter"] = fmt::format("f{}", f);
      row.lists["filters"].push_back(filter);
      filter_lines.push_back(filter_line(exact->filters[l][f], f));
    }
    row.texts["filter_lines"] = lines(filter_lines, 6);
    return row;
  }

  void add_numbers(Binding& out, bool is_exact) const {
    std::int64_t radius_x = 0, radius_m = 0, held = 0;
    for (const MarchLine& line : lines_) {
      radius_x = std::max({radius_x, line.before, line.after});
      radius_m = std::max({radius_m, -line.lowest, line.highest});
      held += line.highest - line.lowest + 1;
    }
    const std::size_t n = rank();
    out.numbers["batches"] = product_of({extents_.begin(), extents_.end() - static_cast<std::ptrdiff_t>(dimensions_)});
    out.numbers["planes"] = extents_[n - dimensions_];
    out.numbers["lines"] = dimensions_ == 3 ? extents_[n - 2] : number_term(1);
    out.numbers["columns"] = extents_.back();
    out.numbers["is_cube"] = number_term(dimensions_ == 3);
    out.numbers["is_exact"] = number_term(is_exact);
    out.numbers["radius_x"] = number_term(radius_x);
    out.numbers["radius_m"] = number_term(radius_m);
    out.numbers["rows_held"] = number_term(held);
    out.numbers["rows_read"] = number_term(static_cast<std::int64_t>(lines_.size()));
    out.numbers["taps"] = number_term(static_cast<std::int64_t>(taps_.size()));
    for (const char* name : {"batches", "planes", "columns"}) out.texts[name] = extent_text(out.numbers[name], task_, names_);
    out.texts["line_count"] = extent_text(out.numbers["lines"], task_, names_);
  }

  std::optional<Binding> binding() {
    Binding out = common_binding(task_, names_);
    const auto exact = small();
    add_texts(out);
    add_numbers(out, exact.has_value());
    out.flags["exact"] = exact.has_value();
    out.texts["exact_statements"] = exact ? lines(exact->statements, 6) : "";
    out.texts["exact_value"] = exact ? exact->value : "";
    for (std::size_t l = 0; l < lines_.size(); ++l) out.lists["lines"].push_back(line_row(l, exact));
    out.texts["first_type"] = "Line0";
    out.texts["is_cube"] = dimensions_ == 3 ? "true" : "false";
    out.texts["march_words"] = dimensions_ == 3 ? "the planes of a cube" : "the rows of an image";
    out.texts["in"] = names_(image_);
    out.texts["in_type"] = task::cuda_type(tensor_of(task_, image_).dtype);
    out.texts["out"] = names_(store_.tensor);
    out.texts["out_type"] = task::cuda_type(tensor_of(task_, store_.tensor).dtype);
    const auto pointer = [&](const std::string& tensor) {
      Binding row;
      row.texts["name"] = names_(tensor);
      row.texts["type"] = task::cuda_type(tensor_of(task_, tensor).dtype);
      return row;
    };
    out.lists["others"] = {};
    for (const std::string& tensor : others_) out.lists["others"].push_back(pointer(tensor));
    out.lists["pointers"] = out.lists["others"];
    out.lists["pointers"].push_back(pointer(image_));
    out.lists["pointers"].push_back(pointer(store_.tensor));
    return out;
  }

  const task::Task& task_;
  const LiftedStore& store_;
  FileNames names_;
  const std::size_t dimensions_;
  std::vector<std::string> index_;
  std::vector<TermPtr> extents_;
  std::string image_;
  std::size_t reads_ = 0;
  std::vector<MarchLine> lines_;
  std::map<std::string, Tap> taps_;
  std::map<std::string, std::string> places_;
  std::vector<std::string> uniform_, others_;
};

}  // namespace

std::optional<Binding> bind_march(const Computation& computation, const std::vector<std::string>& taken) {
  if (!computation.lifted || computation.lifted->stores.size() != 1) return std::nullopt;
  const LiftedStore& store = computation.lifted->stores[0];
  const auto index = plain_index(store.index);
  if (store.adds || !covers_tensor(store, computation.task) || !index || tensor_of(computation.task, store.tensor).role != task::Role::out) return std::nullopt;
  if (std::any_of(index->begin(), index->end(), [](const std::string& i) { return i.empty(); })) return std::nullopt;
  for (const std::size_t dimensions : {3u, 2u}) {
    if (index->size() < dimensions) continue;
    if (auto bound = March(computation, taken, dimensions).make()) return bound;
  }
  return std::nullopt;
}

}  // namespace kforge::propose
