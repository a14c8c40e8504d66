// Resources: what is behind the handles that answers give.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kforge/gpu.h"
#include "kforge/knowledge.h"
#include "kforge/profile.h"
#include "kforge/report.h"
#include "kforge/run.h"
#include "mcp/protocol.h"

namespace kforge::mcp {
namespace {

using Text = tl::expected<ResourceText, RpcError>;

tl::unexpected<RpcError> no(const Error& error) { return tl::unexpected(RpcError{kInvalidParams, to_string(error), nullptr}); }

Text kept(const Workspace& workspace, const std::string& kind, const std::string& id, const char* mime) {
  std::string text = workspace.kept_text(kind, id);
  if (text.empty()) return tl::unexpected(RpcError{kInvalidParams, fmt::format("this server keeps no {} {}; old ones are dropped", kind, id.substr(0, 60)), nullptr});
  return ResourceText{mime, std::move(text)};
}

Text report(const Workspace& workspace, const std::string& id) {
  const auto json = kept(workspace, "verdict", id, "");
  if (!json) return tl::unexpected(json.error());
  const auto verdict = read_verdict(json->text, id);
  if (!verdict) return no(verdict.error());
  return ResourceText{"text/markdown", to_markdown(*verdict)};
}

// Made when it is asked for, of the PTX under the same handle.
Text sass(const Workspace& workspace, const std::string& id) {
  const auto ptx = kept(workspace, "ptx", id, "");
  if (!ptx) return tl::unexpected(ptx.error());
  auto code = machine_code(ptx->text);
  if (!code) return no(code.error());
  return ResourceText{"text/plain", std::move(*code)};
}

Text run(const Workspace& workspace, const std::string& id, bool story) {
  const auto record = load_run(workspace.options().store, id);
  if (!record) return no(record.error());
  return story ? ResourceText{"text/plain", explain_text(*record, TextOptions{})} : ResourceText{"application/json", to_json(*record)};
}

Text rule(const std::string& id) {
  const auto found = knowledge_rule(id);
  if (!found) return no(found.error());
  return ResourceText{"text/plain", to_text(*found, false)};
}

Text gpu(const std::string& id) {
  if (id.find('/') != std::string::npos || id.ends_with(".toml")) return tl::unexpected(RpcError{kInvalidParams, "a data sheet is named here, not a file", nullptr});
  const auto found = gpu_summary(id);
  if (!found) return no(found.error());
  std::string text = fmt::format("{} ({}, sm_{})\n", found->product, found->architecture, found->sm);
  for (const std::string& line : found->description) text += line + "\n";
  return ResourceText{"text/plain", std::move(text)};
}

struct Kind {
  std::string_view name, mime, what;
  Text (*read)(const Workspace&, const std::string& id);
};
constexpr std::array kKinds{
    Kind{"verdict", "application/json", "A verdict, schema kforge.verdict/1", [](const Workspace& w, const std::string& id) { return kept(w, "verdict", id, "application/json"); }},
    Kind{"report", "text/markdown", "A verdict as a report", report},
    Kind{"source", "text/x-cuda", "A candidate's source", [](const Workspace& w, const std::string& id) { return kept(w, "source", id, "text/x-cuda"); }},
    Kind{"profile", "application/json", "Metrics of a candidate's lines, schema kforge.profile/1", [](const Workspace& w, const std::string& id) { return kept(w, "profile", id, "application/json"); }},
    Kind{"listing", "text/plain", "A source with figures beside its lines", [](const Workspace& w, const std::string& id) { return kept(w, "listing", id, "text/plain"); }},
    Kind{"ptx", "text/plain", "A candidate's PTX", [](const Workspace& w, const std::string& id) { return kept(w, "ptx", id, "text/plain"); }},
    Kind{"sass", "text/plain", "A candidate's machine code", sass},
    Kind{"passage", "text/plain", "A passage of a context folder", [](const Workspace& w, const std::string& id) { return kept(w, "passage", id, "text/plain"); }},
    Kind{"plan", "application/toml", "A plan for kforge optimize --plan", [](const Workspace& w, const std::string& id) { return kept(w, "plan", id, "application/toml"); }},
    Kind{"run", "application/json", "A run of the store, schema kforge.run/1", [](const Workspace& w, const std::string& id) { return run(w, id, false); }},
    Kind{"story", "text/plain", "A run told step by step", [](const Workspace& w, const std::string& id) { return run(w, id, true); }},
    Kind{"rule", "text/plain", "A rule of the knowledge base", [](const Workspace&, const std::string& id) { return rule(id); }},
    Kind{"gpu", "text/plain", "A data sheet", [](const Workspace&, const std::string& id) { return gpu(id); }},
};

}  // namespace

Text resource_text(const Workspace& workspace, const std::string& uri) {
  constexpr std::string_view kScheme = "kforge://";
  const std::size_t slash = uri.find('/', kScheme.size());
  if (uri.starts_with(kScheme) && slash != std::string::npos)
    for (const Kind& kind : kKinds)
      if (uri.substr(kScheme.size(), slash - kScheme.size()) == kind.name) return kind.read(workspace, uri.substr(slash + 1));
  return tl::unexpected(RpcError{kInvalidParams, "there is no such resource; resources/templates/list names the kinds", nullptr});
}

Json resource_templates() {
  Json out = Json::array();
  for (const Kind& kind : kKinds)
    out.push_back({{"uriTemplate", fmt::format("kforge://{}/{{id}}", kind.name)}, {"name", kind.name}, {"description", kind.what}, {"mimeType", kind.mime}});
  return out;
}

}  // namespace kforge::mcp
