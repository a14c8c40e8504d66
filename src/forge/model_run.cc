#include "forge/model_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "hardware/data_sheet.h"
#include "llm/providers.h"
#include "llm/record.h"

namespace kforge::forge {
namespace {

// A proposer that the loop may own while the run keeps hold of it.
class Lent final : public propose::Proposer {
 public:
  explicit Lent(std::shared_ptr<propose::Proposer> proposer) : proposer_(std::move(proposer)) {}
  std::string_view name() const override { return proposer_->name(); }
  std::vector<Candidate> propose(const propose::Situation& situation, std::size_t wanted) override { return proposer_->propose(situation, wanted); }

 private:
  std::shared_ptr<propose::Proposer> proposer_;
};

Expected<void> check_options(const ModelOptions& o) {
  if (!o.tools.empty() && o.tools != "on" && o.tools != "off") return fail(ErrorCode::bad_input, "tools are on or off", {}, "--llm-tools on");
  if (!o.effort.empty() && o.effort != "low" && o.effort != "medium" && o.effort != "high") return fail(ErrorCode::bad_input, "an effort is low, medium or high", {}, "--llm-effort medium");
  if (o.bare_feedback && o.tools == "on") return fail(ErrorCode::bad_input, "bare feedback and tools do not go together: tools tell what the judge found", {}, "leave out --llm-tools or --bare-feedback");
  if (o.from_gpu.empty()) return {};
  if (const auto sheet = hardware::find_sheet(o.from_gpu); !sheet) return Unexpected(sheet.error());
  return {};
}

Expected<std::unique_ptr<llm::Client>> client_of(const ModelOptions& o) {
  llm::ClientOptions options;
  options.spec = o.spec;
  options.url = o.url;
  options.key_file = o.key_file;
  return llm::open_client(options);
}

// Nothing where it is unknown and no budget of money needs it.
Expected<std::optional<llm::Price>> price_of(const llm::Client& client, const ModelOptions& o) {
  const std::string model = client.priced_model();
  auto price = llm::find_price(model);
  if (price && !*price && o.money > 0)
    return fail(ErrorCode::bad_input, fmt::format("the price of '{}' is not known, so that no budget of money can be kept", model.empty() ? client.name() : model), {}, "state it in a file and name that in KFORGE_PRICES (see data/llm/prices.toml), or give --max-tokens");
  return price;
}

}  // namespace

Expected<void> check_model(const ModelOptions& options) {
  if (auto right = check_options(options); !right) return right;
  const auto client = client_of(options);
  if (!client) return Unexpected(client.error());
  const auto price = price_of(**client, options);
  return price ? Expected<void>() : Unexpected(price.error());
}

Expected<std::unique_ptr<ModelRun>> ModelRun::open(const ModelOptions& options, ModelSurroundings around) {
  std::unique_ptr<ModelRun> out(new ModelRun(options, std::move(around)));
  if (auto done = out->set_up(); !done) return Unexpected(done.error());
  return out;
}

Expected<void> ModelRun::set_up() {
  if (auto right = check_options(o_); !right) return right;
  auto client = client_of(o_);
  if (!client) return Unexpected(client.error());
  client_ = std::move(*client);
  const auto usual = llm::offers_tools(o_.spec);
  if (!usual) return Unexpected(usual.error());
  tools_ = !o_.bare_feedback && (o_.tools.empty() ? *usual : o_.tools == "on");
  const auto price = price_of(*client_, o_);
  if (!price) return Unexpected(price.error());
  spending_.emplace(llm::TokenBudget{o_.tokens, o_.money}, *price);
  ToolBoxSetup box;
  box.judge = around_.judge;
  box.context = o_.context;
  box.known_source = [journal = around_.journal](const std::string& id) -> const std::string* {
    const Entry* entry = journal->find(id);
    return entry ? &entry->candidate.source : nullptr;
  };
  box_.emplace(std::move(box));
  return load_messages();
}

Expected<void> ModelRun::load_messages() {
  const auto rows = around_.store->messages(around_.journal->row().id);
  if (!rows) return Unexpected(rows.error());
  for (const store::MessageRow& row : *rows)
    if (auto answer = llm::read_answer(row.answer)) known_.emplace(row.request, std::move(*answer));
  return {};
}

std::optional<llm::Answer> ModelRun::recall(const std::string& request) {
  const auto found = known_.find(request);
  if (found == known_.end()) return std::nullopt;
  llm::Answer out = std::move(found->second);
  known_.erase(found);
  return out;
}

Expected<void> ModelRun::keep(const llm::Request& request, const llm::Answer& answer) {
  ++answers_;
  const double at_s = around_.seconds ? around_.seconds() : 0;
  if (auto told = around_.journal->event(at_s, "model", fmt::format("answered {} ({} tokens in, {} out): {}", llm::identity(request), answer.usage.input, answer.usage.output, llm::name(answer.stop))); !told) return told;
  return around_.store->add_message(around_.journal->row().id, {at_s, client_->name(), !request.tools.empty(), llm::identity(request), llm::transcript(request), llm::answer_text(answer)});
}

std::unique_ptr<propose::Proposer> ModelRun::proposer() {
  model::ModelSetup setup;
  setup.client = client_.get();
  setup.spending = &*spending_;
  setup.prompt.tokens = o_.prompt_tokens;
  setup.prompt.device = around_.device.starts_with("emulated") ? fmt::format("an emulated GPU ({})", around_.device) : around_.device;
  setup.prompt.reference = around_.reference;
  setup.prompt.tools = tools_;
  setup.prompt.bare_feedback = o_.bare_feedback;
  setup.prompt.from_gpu = o_.from_gpu;
  if (!o_.context.empty())
    setup.prompt.context = [folders = o_.context](const std::string& query, std::size_t count) {
      auto found = search_context(folders, query, count);
      return found ? std::move(found->passages) : std::vector<ContextPassage>();
    };
  setup.moves.from_gpu = o_.from_gpu;
  setup.at_once = std::max<std::uint64_t>(o_.at_once, 1);
  setup.answer_tokens = o_.answer_tokens;
  setup.effort = o_.effort;
  setup.tools = model_tools();
  if (o_.context.empty()) setup.tools = setup.tools.first(setup.tools.size() - 2);   // the last two look into context folders
  setup.call_tool = [this](const std::string& name, const std::string& arguments) { return box_->call(name, arguments); };
  setup.recall = [this](const std::string& request) { return recall(request); };
  setup.keep = [this](const llm::Request& request, const llm::Answer& answer) { return keep(request, answer); };
  setup.note = [this](const std::string& kind, const std::string& text) { static_cast<void>(around_.journal->event(around_.seconds ? around_.seconds() : 0, kind, text)); };
  setup.review = around_.review;
  setup.cancelled = around_.cancelled;
  setup.progress = around_.told;
  std::shared_ptr<model::ModelProposer> made = model::make_model_proposer(std::move(setup));
  proposer_ = made.get();
  return std::make_unique<Lent>(std::move(made));
}

std::string ModelRun::summary() const { return fmt::format("{}: {} answers, {}", client_->name(), answers_, spending_->summary()); }

std::vector<std::string> model_words(const ModelOptions& o) {
  return {o.spec, o.url, o.effort, o.tools, o.from_gpu, std::to_string(o.tokens), fmt::format("{}", o.money), std::to_string(o.prompt_tokens), std::to_string(o.answer_tokens), std::to_string(o.at_once),
          o.bare_feedback ? "bare" : "", o.key_file, join(o.context, "\n")};
}

ModelOptions model_of_words(const std::vector<std::string>& words) {
  ModelOptions o;
  if (words.size() < 13) return o;
  o.spec = words[0];
  o.url = words[1];
  o.effort = words[2];
  o.tools = words[3];
  o.from_gpu = words[4];
  o.tokens = parse_unsigned(words[5]).value_or(0);
  o.money = parse_double(words[6]).value_or(0);
  o.prompt_tokens = parse_unsigned(words[7]).value_or(o.prompt_tokens);
  o.answer_tokens = parse_unsigned(words[8]).value_or(o.answer_tokens);
  o.at_once = parse_unsigned(words[9]).value_or(1);
  o.bare_feedback = words[10] == "bare";
  o.key_file = words[11];
  for (const std::string_view folder : split(words[12], '\n'))
    if (!folder.empty()) o.context.emplace_back(folder);
  return o;
}

}  // namespace kforge::forge

namespace kforge {

std::vector<std::string> model_providers() {
  std::vector<std::string> out;
  for (const llm::Provider& provider : llm::providers()) out.push_back(fmt::format("{:<26} {}", fmt::format("{}:{}", provider.word, provider.rest), provider.what));
  return out;
}

Expected<std::string> message_record(const std::string& folder, const std::string& id) {
  auto store = store::Store::open(store::store_folder(folder), false);
  if (!store) return Unexpected(store.error());
  const auto row = store->run(id);
  if (!row) return Unexpected(row.error());
  const auto messages = store->messages(row->id);
  if (!messages) return Unexpected(messages.error());
  if (messages->empty()) return fail(ErrorCode::missing, "no model was asked in this run", {row->id, 0, 0}, "kforge optimize TASK --llm PROVIDER:MODEL");
  llm::Record out{messages->front().provider, messages->front().tools, {}};
  for (const store::MessageRow& message : *messages) {
    auto answer = llm::read_answer(message.answer);
    if (!answer) return Unexpected(answer.error());
    out.exchanges.push_back({message.request, std::move(*answer)});
  }
  return llm::to_text(out);
}

}  // namespace kforge
