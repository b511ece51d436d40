# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan costs the controller: for 8 cards and a checkpoint of 60 shards, as ratios.

Three programs run in turn, so that what else the machine does falls on all of them: an empty one, one that imports what Ansible has imported
already, and one that makes the plan with its report and its page. A program that plans says where its time went: its imports come once in a play,
before Ansible forks its workers, plan and report once for each host.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from ansible_collections.blackwell.inference.plugins.module_utils.model.config import model_from_config
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import ModelSpec, Weights

RUNS = 15
GOAL_MS = 50
SHARDS, CHECKPOINT_BYTES = 60, 547_000_000_000
CONFIG = Path(__file__).parents[1] / "tests" / "data" / "models" / "kimi-k2.5" / "config.json"
HARDWARE = {"gpus": 8, "gpu_memory_gib": 95.59, "gpu_free_gib": 95.01, "ram_gib": 449}
SERVING = {"tp": 8, "hicache": True}
BASE = "import json, jinja2, yaml"
PLAN = """
import json, jinja2, sys, time, yaml
began = time.process_time()
from ansible_collections.blackwell.inference.plugins.module_utils.sglang.dialect import dialect_for
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.hardware import host_from_hardware
from ansible_collections.blackwell.inference.plugins.plugin_utils.page.page import page
from ansible_collections.blackwell.inference.plugins.module_utils.model.spec import model_from_dict
from ansible_collections.blackwell.inference.plugins.module_utils.planning.planner import plan_memory
from ansible_collections.blackwell.inference.plugins.module_utils.planning.report.text import report_lines
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.request import PlanRequest
from ansible_collections.blackwell.inference.plugins.module_utils.planning.request.serving import serving_from_dict
imported = time.process_time()
with open(sys.argv[1], encoding="utf-8") as file:
    given = json.load(file)
dialect = dialect_for("0.5.23")
plan = plan_memory(PlanRequest(
    model=model_from_dict(given["model"]), rules=dialect.rules, dialect=dialect.name,
    serving=serving_from_dict(given["serving"]), host=host_from_hardware(given["hardware"]),
))
planned = time.process_time()
told = plan.as_dict()
report_lines(told), page(told), json.dumps(told)
told_at = time.process_time()
print(json.dumps({"imports": imported - began, "plan": planned - imported, "report": told_at - planned}))
"""


def checkpoint() -> ModelSpec:
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    weights = Weights(CHECKPOINT_BYTES, SHARDS, "safetensors")
    return model_from_config("kimi-k2.5", config, None, weights, "benchmark", str(CONFIG))


def run(bytecode: Path, program: str, *arguments: str) -> tuple[float, str]:
    """(seconds of processor time of the whole process, what it printed). Unlike the wall's, they leave out what others do meanwhile."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> int:
    empty, common, whole, compiled = [], [], [], []
    phases: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        given, bytecode = Path(temporary) / "given.json", Path(temporary) / "bytecode"
        given.write_text(json.dumps({"model": checkpoint().as_dict(), "hardware": HARDWARE, "serving": SERVING}))
        for program, arguments in ((BASE, ()), (PLAN, (str(given),))):
            run(bytecode, program, *arguments)  # writes the bytecode
        for turn in range(RUNS):
            empty.append(run(bytecode, "")[0])
            common.append(run(bytecode, BASE)[0])
            seconds, printed = run(bytecode, PLAN, str(given))
            whole.append(seconds)
            for phase, spent in json.loads(printed).items():
                phases.setdefault(phase, []).append(spent)
            compiled.append(run(Path(temporary) / f"none-{turn}", PLAN, str(given))[0])
    start, base, plan, source = (statistics.median(times) for times in (empty, common, whole, compiled))
    print(f"a plan against an empty Python: {plan / start:.2f} ({RUNS} runs each, medians of processor time)")
    print(f"a plan against an import of json, jinja2 and yaml: {plan / base:.2f}")
    print(f"a plan that compiles the collection first against one that finds it compiled: {source / plan:.2f}")
    host_ms = sum(statistics.median(phases[phase]) for phase in ("plan", "report")) * 1000
    print(f"for each host: {host_ms:.0f} ms (goal {GOAL_MS}), {host_ms / 1000 / start:.2f} starts of Python")
    for phase, times in phases.items():
        spent = statistics.median(times)
        print(f"  {phase}: {spent * 1000:.1f} ms, {spent / start:.2f} starts of Python")
    return 0


if __name__ == "__main__":
    sys.exit(main())
