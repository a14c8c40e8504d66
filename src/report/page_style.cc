// Colours are pairs for light and dark; every text on its background has a contrast of at least 4.5 (WCAG 2.1, AA). No rule loads anything.
#include "report/page_style.h"

namespace kforge::report {

std::string_view page_style() {
  return R"css(
:root {
  color-scheme: light dark;
  --paper: #fbfbf9; --card: #ffffff; --ink: #1c1e21; --soft: #5a6069; --line: #dcdfe4; --wash: #f1f2f4;
  --accent: #0b57a4; --good: #14663a; --good-wash: #e2f3e9; --bad: #a3222a; --bad-wash: #fbe6e6; --warn: #7a5200; --warn-wash: #fbf0d5;
  --add: #e4f5ea; --del: #fce9e8; --hit: #fdf3da; --bar: #8fb4da; --grid: #e6e8ec;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14161a; --card: #1b1e23; --ink: #e6e7e9; --soft: #a3a9b3; --line: #343942; --wash: #23272e;
    --accent: #7cb7f5; --good: #7fd6a2; --good-wash: #173524; --bad: #ff9d9d; --bad-wash: #3d1e20; --warn: #f0c468; --warn-wash: #3a2f16;
    --add: #17301f; --del: #391f21; --hit: #3a3018; --bar: #4f7fb0; --grid: #2a2e36;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 2.5rem) 5rem; }
h1, h2, h3 { line-height: 1.25; margin: 0; text-wrap: balance; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.6rem, 5vw, 2.3rem); letter-spacing: -0.015em; }
h2 { font-size: 1.3rem; margin: 3rem 0 0.9rem; padding-top: 0.9rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.03rem; margin: 1.4rem 0 0.4rem; }
p { margin: 0.5rem 0; max-width: 46rem; overflow-wrap: anywhere; }
a { color: var(--accent); }
code, pre, .code { font-family: var(--mono); font-size: 0.86em; }
p code, li code, td code { background: var(--wash); border-radius: 3px; padding: 0.08em 0.3em; overflow-wrap: anywhere; }
.lead { font-size: 1.06rem; color: var(--soft); }
.sub { display: block; color: var(--soft); font-size: 0.85rem; line-height: 1.4; }
.badge { display: inline-block; border-radius: 999px; padding: 0.05rem 0.6rem; font-size: 0.8rem; font-weight: 600; background: var(--wash); color: var(--soft); white-space: nowrap; }
.badge.good { background: var(--good-wash); color: var(--good); } .badge.bad { background: var(--bad-wash); color: var(--bad); } .badge.warn { background: var(--warn-wash); color: var(--warn); }
nav { margin: 1.2rem 0 0; font-size: 0.92rem; display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; }
nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 0.75rem; margin: 1.4rem 0 0; padding: 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 0.8rem 1rem; }
.tile b { display: block; font-size: 1.55rem; line-height: 1.2; font-weight: 650; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.tile span { color: var(--soft); font-size: 0.86rem; line-height: 1.35; display: block; margin-top: 0.15rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 0.9rem; min-width: 0; }
figcaption { font-size: 0.88rem; color: var(--soft); margin-top: 0.4rem; }
svg.plot { display: block; width: 100%; height: auto; }
svg text { font-family: inherit; font-size: 11.5px; fill: var(--soft); } svg text.note { fill: var(--ink); }
svg .grid { stroke: var(--grid); stroke-width: 1; } svg .roof { stroke: var(--ink); stroke-width: 1.6; fill: none; } svg .roof.soft { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 3; }
svg .here { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; } svg .strip { fill: var(--wash); }
svg .base { fill: var(--warn); } svg .step { fill: var(--bar); stroke: var(--card); } svg .step.reused { fill: var(--card); stroke: var(--bar); stroke-width: 1.5; } svg .best { fill: var(--good); stroke: var(--card); }
svg .cross { stroke: var(--bad); stroke-width: 1.4; fill: none; } svg .best-line { stroke: var(--good); stroke-width: 1.5; fill: none; } svg .bar { fill: var(--bar); stroke: none; } svg .bar.best { fill: var(--good); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 10px; background: var(--card); margin: 0.6rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.5rem 0.75rem; border-bottom: 1px solid var(--line); }
tbody:last-child tr:last-child > * { border-bottom: 0; }
thead th { font-size: 0.82rem; color: var(--soft); font-weight: 600; white-space: nowrap; background: var(--wash); }
.num { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.audit { min-width: 44rem; } .audit td:nth-child(1) { width: 30%; } .audit td:nth-child(5) { width: 24%; }
tr.layer th { background: var(--wash); font-size: 0.92rem; }
tr.winner td { background: var(--good-wash); }
.bars td { border-bottom: 0; padding: 0.3rem 0.75rem; } .bars thead th { background: none; } .bar-cell { width: 38%; min-width: 6rem; }
.hbar { display: block; height: 0.85rem; margin-top: 0.35rem; border-radius: 3px; background: var(--bar); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem 1.1rem; margin: 0.9rem 0; min-width: 0; }
.card > h3:first-of-type { margin-top: 0; }
.card ul, .card ol { padding-left: 1.25rem; margin: 0.4rem 0; } .card li { margin: 0.2rem 0; max-width: 46rem; }
.gain { float: right; margin: 0 0 0.3rem 0.8rem; font-weight: 650; font-variant-numeric: tabular-nums; color: var(--good); }
details { margin: 0.6rem 0 0; } summary { cursor: pointer; color: var(--accent); font-size: 0.93rem; }
dl.facts { margin: 0.5rem 0; display: grid; gap: 0.2rem; } dl.facts > div { display: grid; grid-template-columns: 6rem 1fr; gap: 0.7rem; }
dl.facts dt { color: var(--soft); font-size: 0.88rem; } dl.facts dd { margin: 0; font-size: 0.94rem; overflow-wrap: anywhere; min-width: 0; }
ol.steps { padding-left: 1.4rem; } ol.steps li { margin: 0.8rem 0; }
.finding { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 0.9rem 1.1rem; margin: 0.8rem 0; } .finding h3 { margin: 0 0 0.3rem; }
pre { overflow-x: auto; } pre.details { margin: 0.6rem 0 0; color: var(--soft); }
.code { background: var(--card); border: 1px solid var(--line); border-radius: 10px; overflow-x: auto; padding: 0.5rem 0; line-height: 1.5; font-size: 0.82rem; margin: 0.7rem 0; }
.code .l { display: flex; white-space: pre; width: max-content; min-width: 100%; } .code .n { flex: none; width: 3.4rem; padding-right: 0.9rem; text-align: right; color: var(--soft); user-select: none; }
.code .s { flex: none; width: 1rem; color: var(--soft); } .code .c { padding-right: 1rem; tab-size: 4; } .code .hit { background: var(--hit); } .code .add { background: var(--add); } .code .del { background: var(--del); }
.code .fs { flex: none; display: flex; order: -1; color: var(--soft); font-size: 0.92em; } .code .f { flex: none; width: 3.9rem; text-align: right; } .code .f.much { color: var(--bad); font-weight: 600; } .code .heads { border-bottom: 1px solid var(--line); color: var(--soft); }
.code .gap { color: var(--soft); padding: 0.15rem 0 0.15rem 3.4rem; } .note-line { position: sticky; left: 0; width: min(100%, calc(100vw - 3rem)); padding: 0.25rem 1rem 0.35rem 3.4rem; background: var(--hit); font: 0.86rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; white-space: normal; }
footer { margin-top: 3.5rem; padding-top: 0.9rem; border-top: 1px solid var(--line); color: var(--soft); font-size: 0.88rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  .code .l { flex-wrap: wrap; } .code .heads, .code .fs.none, .code .f:empty { display: none; } .code .fs { order: 1; flex-basis: 100%; padding-left: 2.6rem; } .code .f { width: auto; padding-right: 0.7rem; }
  .f0::before { content: "inst "; } .f1::before { content: "lanes "; } .f2::before { content: "sectors "; } .f3::before { content: "/ideal "; } .f4::before { content: "banks "; } .f5::before { content: "/ideal "; } .f6::before { content: "waits "; } .f7::before { content: "for "; }
  .audit { min-width: 0; display: block; } .audit thead { display: none; } .audit tbody { display: block; }
  .audit tr { display: grid; grid-template-columns: 1fr auto; padding: 0.55rem 0.75rem; border-bottom: 1px solid var(--line); } .audit tr.layer { display: block; background: var(--wash); }
  .audit th, .audit td, .audit td:nth-child(1), .audit td:nth-child(5) { border: 0; padding: 0.1rem 0; width: auto; } .audit td:nth-child(2) { text-align: right; }
  .audit td:nth-child(n+3) { grid-column: 1 / -1; } .audit td:nth-child(n+3):empty { display: none; }
  .audit td:nth-child(3)::before { content: "expected "; color: var(--soft); } .audit td:nth-child(4)::before { content: "measured "; color: var(--soft); } .audit td:nth-child(5)::before { content: "likely cause "; color: var(--soft); }
}
@media (max-width: 34rem) { dl.facts > div { grid-template-columns: 1fr; gap: 0; } .note-line { padding-left: 1rem; } .code .n { width: 2.6rem; padding-right: 0.6rem; } th, td { padding: 0.45rem 0.6rem; } }
@media print { .code, .scroll { overflow: visible; } nav { display: none; } }
)css";
}

}  // namespace kforge::report
