# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the page looks, on a screen by day and by night, on a phone and on paper. Private to the collection, may change any time."""

from __future__ import annotations

# Fills of one scheme differ in lightness too, so that they can be told apart in grey; each has 3:1 against the paper, words have 4.5:1.
STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --soft: #59616b; --rule: #dde1e6; --wash: #f5f6f8;
  --outside: #e3e6ea; --outside-edge: #858d97; --process: #838d9a; --weights: #1f3b63; --pool: #14806f; --work: #7d437f; --graph: #c2841f;
  --hatch: rgba(255, 255, 255, .55); --mark: #b3261e; --good: #1a6b3c; --bad: #b3261e;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --ink: #e7eaee; --soft: #a2abb6; --rule: #30363e; --wash: #1c2026;
    --outside: #2b3138; --outside-edge: #75808c; --process: #737e8c; --weights: #a5c3ee; --pool: #35a892; --work: #9c63a1; --graph: #ecb663;
    --hatch: rgba(20, 23, 27, .6); --mark: #ff8a80; --good: #6fd08c; --bad: #ff8a80;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; overflow-wrap: break-word; }
header { border-bottom: 2px solid var(--ink); padding-bottom: 1.25rem; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; letter-spacing: -.015em; overflow-wrap: anywhere; }
h2 { margin: 0 0 .75rem; font-size: 1.2rem; line-height: 1.3; }
h3 { margin: 1.5rem 0 .5rem; font-size: 1rem; }
p { margin: .4rem 0; }
section { margin-top: 2.75rem; }
.what, figcaption, .source { color: var(--soft); }
.state { display: inline-block; margin-top: .6rem; padding: .1rem .65rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .875rem;
  font-weight: 600; }
.state.good, .passed { color: var(--good); } .state.bad, .failed { color: var(--bad); } .state.open, .skipped { color: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: 1.25rem 1.5rem; margin: 1.5rem 0 0; }
.figures div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.figures dt { font-size: .875rem; color: var(--soft); line-height: 1.35; }
.figures dd { margin: 0; font-size: 1.6rem; line-height: 1.25; font-weight: 600; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
.figures small { font-size: .9rem; font-weight: 400; }
figure { margin: 0 0 1rem; break-inside: avoid; }
figcaption { font-size: .875rem; margin-bottom: .3rem; }
svg { display: block; overflow: visible; }
svg.swatch { display: inline-block; vertical-align: -.15em; }
svg.definitions { position: absolute; }
svg.bar, svg.slim { width: 100%; }
rect { stroke: var(--paper); stroke-width: 1; }
.outside { fill: var(--outside); stroke: var(--outside-edge); } .free { fill: var(--paper); stroke: var(--outside-edge); stroke-dasharray: 3 2; }
.process { fill: var(--process); } .weights { fill: var(--weights); } .pool { fill: var(--pool); } .work { fill: var(--work); }
.graph { fill: var(--graph); }
pattern path { fill: none; stroke: var(--hatch); }
.wide { overflow-x: auto; }
.number circle { fill: var(--paper); } .number text { fill: var(--ink); font-size: 11px; font-weight: 600; text-anchor: middle; }
line.tick { stroke: var(--outside-edge); } text.tick { fill: var(--soft); font-size: 11px; } line.mark { stroke: var(--mark); stroke-width: 2; }
text.mark { fill: var(--mark); font-size: 12px; font-weight: 600; }
.first { text-anchor: start; } .inner { text-anchor: middle; } .last { text-anchor: end; }
.small { font-size: .875rem; margin: 1.25rem 0 .3rem; }
.cards { margin: 0 0 1.5rem; display: grid; grid-template-columns: auto 1fr auto; gap: .3rem .75rem; align-items: center; font-size: .875rem;
  font-variant-numeric: tabular-nums; }
.cards span:last-child { text-align: right; }
.cards > div { display: contents; }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; line-height: 1.4; }
caption { text-align: left; color: var(--soft); font-size: .875rem; padding-bottom: .35rem; }
th, td { padding: .35rem .75rem .35rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); font-weight: 400; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .8125rem; border-bottom-color: var(--soft); vertical-align: bottom; }
.size { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.key { width: 3.6rem; white-space: nowrap; }
.key span { display: inline-block; min-width: 1.4rem; color: var(--soft);
  font-size: .8125rem; font-variant-numeric: tabular-nums; }
tr.result th, tr.result td { font-weight: 600; border-bottom: 2px solid var(--ink); } tr.result .source { font-weight: 400; }
td.source, td.text { overflow-wrap: anywhere; }
ul.told { list-style: none; margin: 0; padding: 0; }
* + ul.told { margin-top: 1rem; }
ul.told li { margin: 0 0 .6rem; padding: .55rem .9rem; background: var(--wash); border-left: 3px solid var(--outside-edge); overflow-wrap: anywhere;
  break-inside: avoid; }
ul.told li.refused, ul.told li.forced { border-left-color: var(--bad); }
ul.told strong { display: block; font-size: .8125rem; color: var(--soft); } ul.told .refused strong, ul.told .forced strong { color: var(--bad); }
dl.flags { margin: 0; columns: 3 17rem; column-gap: 2rem; font: .8125rem/1.5 ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; }
dl.flags div { break-inside: avoid; padding: .15rem 0; display: flex; justify-content: space-between; gap: 1rem; border-bottom: 1px solid var(--rule); }
dl.flags dt { color: var(--soft); } dl.flags dd { margin: 0; text-align: right; overflow-wrap: anywhere; min-width: 3rem; }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 3rem; }
  h1 { font-size: 1.5rem; } section { margin-top: 2rem; }
  .figures { grid-template-columns: repeat(2, 1fr); gap: 1rem; } .figures dd { font-size: 1.3rem; }
  table { font-size: .8125rem; } th, td { padding-right: .5rem; } .key { width: 3.2rem; }
  .wide { font-size: .9em; } .wide .size { white-space: normal; } .wide th[scope="row"] { min-width: 4.5rem; }
  .narrow { display: none; }
}
@media print {
  :root { color-scheme: light; }
  @page { margin: 14mm; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  section { margin-top: 1.5rem; } h2, caption { break-after: avoid; } tr, table { break-inside: avoid; } thead { display: table-header-group; }
  .figures { grid-template-columns: repeat(auto-fit, minmax(6rem, 1fr)); } .figures dd { font-size: 1.3rem; } .wide { overflow-x: visible; }
  svg, ul.told li { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""
