# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page: whole, escaped, readable without colours and without eyes, and the same bytes for the same plan."""

from __future__ import annotations

import copy
import json
import re
from html.parser import HTMLParser

import pytest
from jinja2 import UndefinedError

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import PlanningError
from ansible_collections.blackwell.inference.plugins.module_utils.core.units import GIB
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.tables import plan_tables
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.bars import PATTERNS, bar_styles
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.drawing import HATCHES
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.page import TEMPLATES, environment
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.page import page as html_page
from ansible_collections.blackwell.inference.tests.unit.planning.test_planner import on_cpu
from ansible_collections.blackwell.inference.tests.unit.plugin_utils.page.test_measured import AVAILABLE, MEASURED

STYLE = (TEMPLATES / "style.css.j2").read_text(encoding="utf-8")
VOID = {"meta", "br"}
EVIL = "<script>alert('1')</script> & \"quoted\" \x00\ud800"
CHECK = {"name": "graph memory", "outcome": "failed", "expected": 1, "seen": 2, "source": "journal", "message": "other"}
VERDICT = {
    "passed": False,
    "started": "2026-02-24T10:12:00Z",
    "finished": "2026-02-24T10:12:03Z",
    "levels": [
        {"level": "journal", "passed": False, "checks": [CHECK]},
        {"level": "host_memory", "passed": True, "checks": [AVAILABLE, {**AVAILABLE, "outcome": "skipped"}]},
    ],
}


class Page(HTMLParser):
    """Every element with its attributes and its text; fails on a tag that closes another."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[int] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"{tag} has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag):
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data):
        for index in self.open:
            self.texts[index] += data

    def all(self, tag, **attributes):
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            (found, text)
            for (name, found), text in zip(self.elements, self.texts, strict=True)
            if name == tag and wanted.items() <= found.items()
        ]

    def text(self, tag, **attributes):
        return [text for _found, text in self.all(tag, **attributes)]


@pytest.fixture
def data(plan):
    """A plan with everything that a page can show."""
    made = plan(hicache_ratio=2.0, mem_fraction_static=0.93, force=["headroom"]).as_dict()
    made["arguments"] = {"mem-fraction-static": 0.92, "trust-remote-code": True, "tool-call-parser": "kimi_k2"}
    made["choices"] = [{"name": "hicache_ratio", "value": 4.0, "by": "operator", "why": "asked for", "costs": "RAM"}]
    made["observation"]["memory"]["numa_nodes"] = [{"node": node, "total_bytes": 224 * GIB} for node in (0, 1)]
    for gpu in made["observation"]["gpus"]:
        gpu.update(numa_node=gpu["index"] // 4, free_bytes=95 * GIB + gpu["index"] * GIB // 100)
    return json.loads(json.dumps(made))


@pytest.fixture
def page(data):
    return Page(html_page(data, MEASURED, VERDICT))


def test_sections_in_order(page):
    assert page.text("h2") == [
        "GPU memory",
        "Host memory",
        "Pools",
        "Choices",
        "Refused, forced and noted",
        "Start",
        "Planned beside measured",
        "Verification",
        "Engine flags",
    ]


def test_it_is_the_same_for_the_same_plan(data):
    again = json.loads(json.dumps(data))
    assert html_page(again, dict(MEASURED), VERDICT) == html_page(data, MEASURED, VERDICT)


def test_it_needs_nothing_from_anywhere(page, data):
    assert not [name for name, _attributes in page.elements if name in ("script", "link", "img", "iframe", "a")]
    assert not [
        found
        for _name, found in page.elements
        if {"src", "href", "style"} & set(found) or any(name.startswith("on") for name in found)
    ]
    assert page.all("meta", content="default-src 'none'; style-src 'unsafe-inline'")
    assert "@import" not in STYLE
    assert "url(" not in STYLE
    assert "http" not in html_page(data, MEASURED, VERDICT).replace("http-equiv", "")


def test_what_refers_to_something_finds_it(page):
    ids = [found["id"] for _name, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    refers = [found["aria-labelledby"] for _name, found in page.elements if "aria-labelledby" in found]
    fills = [found["fill"] for _name, found in page.elements if found.get("fill")]
    assert set(refers) <= set(ids)
    assert {f"url(#{name})" for name in ids} >= set(fills)
    assert len(page.all("pattern")) == len(HATCHES) == PATTERNS - 1


def test_every_picture_is_told_in_words_and_every_table_has_a_name(page):
    pictures = [found for found, _text in page.all("svg") if found.get("aria-hidden") != "true"]
    assert len(pictures) == 2 + 8 + 2 + 2 + 2  # card, every card, host, its nodes, start
    assert all(found["role"] == "img" and found["aria-label"] for found in pictures)
    assert len(page.all("table")) == len(page.all("caption"))
    assert all(found.get("scope") in ("col", "row") for found, _text in page.all("th"))
    assert page.elements[0] == ("html", {"lang": "en"})


def test_the_tables_are_those_of_the_report(page, data):
    cells = page.text("td", class_="size")
    for table in plan_tables(data):
        for line in (table.capacity, *table.lines, table.result):
            assert f"{line.size_bytes / GIB:,.2f}" in cells
            assert line.source in page.text("td", class_="source")


def bars(text):
    """Width by class of each bar, in per cent."""
    pictures = re.findall(r'<svg class="bar".*?</svg>', text, re.DOTALL)
    return [
        [
            (kind, float(width))
            for kind, width in re.findall(r'<rect class="(\w+)" x="[\d.]+%" y="\d+" width="([\d.]+)%', picture)
        ]
        for picture in pictures
    ]


def test_a_bar_is_as_long_as_its_bytes(data):
    card = data["observation"]["gpus"][0]["total_bytes"]
    planned, measured = bars(html_page(data, MEASURED))[:2]
    widths = dict(planned)
    weights = next(line for line in data["gpu"]["lines"] if line["name"] == "weights")
    assert sum(width for _kind, width in planned) == pytest.approx(100, abs=0.01)
    assert sum(width for _kind, width in measured) == pytest.approx(100, abs=0.01)
    assert widths["weights"] == pytest.approx(100 * weights["size_bytes"] / card, abs=0.001)
    assert widths["free"] == pytest.approx(100 * data["gpu"]["headroom_bytes"] / card, abs=0.001)
    assert dict(measured)["free"] == pytest.approx(100 * MEASURED["free_after_graphs_bytes"] / card, abs=0.001)


def test_a_plan_that_takes_more_than_there_is_says_how_much(data):
    data["gpu"]["lines"][0]["size_bytes"] += 20 * GIB
    data["gpu"]["headroom_bytes"] -= 20 * GIB
    over = -data["gpu"]["headroom_bytes"]
    text = html_page(data)
    assert f"The plan takes {over / GIB:.2f} GiB more than there is." in text
    assert sum(width for _kind, width in bars(text)[0]) == pytest.approx(100, abs=0.01)


def test_cards_keep_what_they_had_more_than_the_poorest(page, data):
    free = [data["gpu"]["headroom_bytes"] / GIB + index / 100 for index in range(8)]
    told = [text for text in page.text("span") if text.endswith("GiB free")]
    assert told == [f"{gib:.2f} GiB free" for gib in free]


def test_nodes_share_what_the_ranks_take(page, data):
    taken = sum(line["size_bytes"] for line in data["host"]["lines"])
    assert page.text("span").count(f"{(224 * GIB - taken // 2) / GIB:.2f} GiB left") == 2


def test_the_bar_of_a_cgroup_ends_at_its_limit(data):
    data["host"]["capacity"]["source"] = "cgroup"
    data["observation"]["cgroup"] = {"limit_bytes": 460 * GIB, "headroom_bytes": data["host"]["capacity"]["size_bytes"]}
    captions = Page(html_page(data, MEASURED, VERDICT)).text("figcaption")
    assert any(caption.startswith("Planned. The limit of the cgroup, 460.00 GiB: ") for caption in captions)
    assert not any("MemAvailable" in caption for caption in captions)


def test_hostile_texts_are_shown_as_they_are(data):
    data["model"]["name"] = data["notes"][0] = data["arguments"]["served"] = EVIL
    data["choices"][0]["why"] = data["gpu"]["lines"][0]["name"] = data["gpu"]["lines"][0]["source"] = EVIL
    data["refusals"][0]["message"] = data["host"]["capacity"]["name"] = EVIL
    data["arguments"][EVIL] = {"a": EVIL}
    text = html_page(data, {**MEASURED, "measured": EVIL}, {**VERDICT, "started": EVIL, "finished": EVIL})
    text.encode("utf-8")
    assert "<script" not in text
    hostile = Page(text)
    shown = "<script>alert('1')</script> & \"quoted\" \ufffd\ufffd"
    assert hostile.text("h1") == [shown]
    assert f"Note{shown}" in hostile.text("li")
    assert any(shown in found.get("aria-label", "") for found, _text in hostile.all("svg"))


def texts(value, path=()):
    """Where the texts of a dictionary are, those that are keys of engine flags too."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from texts(one, (*path, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from texts(one, (*path, index))
    elif isinstance(value, str):
        yield path


def with_evil(value, path):
    """A copy with a hostile text at this place."""
    changed = copy.deepcopy(value)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = EVIL
    return changed


@pytest.mark.parametrize("where", ["plan", "measured", "verdict"])
def test_no_text_of_anything_is_shown_unescaped(data, where):
    verdict = {**VERDICT, "levels": [{**level, "checks": [*level["checks"], CHECK]} for level in VERDICT["levels"]]}
    given = {"plan": data, "measured": MEASURED, "verdict": verdict}
    tags = {name for name, _attributes in Page(html_page(*given.values())).elements} | {"li", "ul"}
    shown = set()
    for path in texts(given[where]):
        text = html_page(**{**given, where: with_evil(given[where], path)})
        assert "<script" not in text, path
        assert '"quoted"' not in text, path
        assert "\x00" not in text, path
        assert {name for name, _attributes in Page(text).elements} <= tags, path
        if "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &#34;quoted&#34; \ufffd\ufffd" in text:
            shown.add(".".join(str(step) for step in path if not isinstance(step, int)))
    assert shown == SHOWN[where]


SHOWN = {
    "plan": {
        "arguments.tool-call-parser",
        "choices.by",
        "choices.costs",
        "choices.name",
        "choices.why",
        "device",
        "engine.dialect",
        "engine.version",
        "gpu.capacity.name",
        "gpu.capacity.source",
        "gpu.lines.name",
        "gpu.lines.source",
        "host.capacity.name",
        "host.capacity.source",
        "host.lines.name",
        "host.lines.source",
        "host_cache.pools.kind",
        "host_cache.pools.name",
        "model.name",
        "notes",
        "pools.kind",
        "pools.name",
        "refusals.message",
        "refusals.name",
    },
    "measured": {"measured"},
    "verdict": {"finished", "levels.checks.message", "levels.checks.name", "levels.level", "started"},
}


def test_a_refused_plan_says_so_first(request_for):
    with pytest.raises(PlanningError) as refused:
        plan_memory(request_for(mem_fraction_static=0.93))
    text = html_page(refused.value.details["refused_plan"])
    assert "<title>Memory plan (refused): kimi-k2.5 on SGLang" in text
    shown = Page(text)
    assert shown.text("p", class_="state bad") == ["Refused: it cannot be started as it is asked for"]
    assert "GPU memory" in shown.text("h2")
    (told,) = shown.text("li", class_="refused")
    assert told.startswith("Refused: headroommem_fraction_static 0.93 leaves 0.83 GiB free")


def test_a_plan_that_was_forced_is_not_refused(page, data):
    assert "(refused)" not in page.text("title")[0]
    certain = {"name": "headroom", "message": "it would not start", "overridable": False}
    text = html_page({**data, "refusals": [certain]})
    assert "Refused: it cannot be started as it is asked for" in text


def test_a_template_cannot_name_what_is_not_given():
    with pytest.raises(UndefinedError):
        environment().from_string("{{ absent }}").render()


def test_a_server_that_is_not_what_was_planned_says_so_first(page):
    assert page.text("p", class_="state bad") == ["Verified 2026-02-24T10:12:03Z: it is not what was planned"]
    assert "Failed: journal, graph memoryother" in page.text("li")


@pytest.mark.parametrize(
    ("given", "state"), [(None, "Planned, not verified yet"), ({**VERDICT, "passed": True}, "Verified 2026-02-24T10:12:03Z: it is what was planned")]
)  # fmt: skip
def test_the_state_of_a_plan(data, given, state):
    assert state in Page(html_page(data, None, given)).text("p")


def test_a_forced_refusal_says_what_forcing_means(page):
    told = page.text("li", class_="forced")
    assert len(told) == 1
    assert "Forcing it means: start with less free GPU memory than must stay" in told[0]


def test_a_cpu_has_no_bar_of_cards(plan, llama):
    small = Page(html_page(on_cpu(plan, llama).as_dict()))
    assert "GPU memory" not in small.text("h2")
    assert "GPU" not in " ".join(small.text("main"))


def test_a_plan_with_little_in_it_still_makes_a_page():
    bare = {
        "device": "cpu",
        "ranks": 1,
        "pool": {"tokens": 8, "cell_bytes": 2, "kv_bytes": 16},
        "host": {"lines": []},
        "host_cache": {},
        "arguments": {},
    }
    assert Page(html_page({**bare, "host": {"available_after_start_bytes": 0}})).text("h1") == [
        "a model without a name"
    ]


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_words_and_fills_stand_out_from_the_paper(scheme):
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[scheme]))
    for word in ("ink", "soft", "mark", "good", "bad"):
        assert contrast(colours[word], colours["paper"]) >= 4.5, word
        assert contrast(colours[word], colours["wash"]) >= 4.5, word
    for fill in ("process", "weights", "pool", "work", "graph", "outside-edge"):
        assert contrast(colours[fill], colours["paper"]) >= 3, fill
    for one, other in (
        ("weights", "pool"),
        ("pool", "work"),
        ("work", "graph"),
        ("process", "pool"),
        ("pool", "graph"),
    ):
        assert contrast(colours[one], colours[other]) >= 1.3, f"{one} beside {other} in grey"


def test_lines_of_one_colour_differ_in_their_pattern():
    made = bar_styles(
        [
            "weights",
            "draft weights",
            "KV cache",
            "sliding-window KV cache",
            "state pool",
            "indexer keys",
            "draft KV cache",
            "padding",
        ]
    )
    assert [style.number for style in made] == list(range(1, 9))
    assert len({(style.kind, style.pattern) for style in made}) == len(made)
