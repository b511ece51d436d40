#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_verify
short_description: Verify that a running inference server is what was planned
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Compares a running server with its plan, level by level. The levels are the unit, the API, the server's own info, the journal of this start, and the
    memory of the host. Every check names what was expected, what was seen, and where.
  - Fails when a check fails, and returns the whole verdict then too.
  - The verdict is kept as JSON. An old one is deleted first, the new one is written last, so a verdict that exists belongs to a verification that ended.
  - What the start taught (free memory, sizes, seconds) is kept beside it for the next plan, as soon as the journal holds a whole start.
  - The page of O(report_path) is made on the controller, so a verification whose records are kept takes two calls on the host.
  - Never reports a change. A verdict is the record of an observation, not a state of the host that somebody asked for.
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.server
attributes:
  check_mode:
    support: full
    details: Verifies, and writes no files. Does not fail because nothing runs yet.
  diff_mode:
    support: none
  async:
    description: Can be used with the C(async) keyword.
    support: none
options:
  plan:
    description: The plan that the server was started by, as M(blackwell.inference.memory_plan) returns it.
    type: dict
    required: true
  served_model_name:
    description: Name of the model that clients ask for.
    type: str
    required: true
  engine_version:
    description: Version of SGLang that must run.
    type: str
    required: true
  levels:
    description: Levels to verify.
    type: list
    elements: str
    choices: [unit, api, server_info, journal, host_memory]
    default: [unit, api, server_info, journal, host_memory]
  expected_unit:
    description: Properties that C(systemctl show) must print of the unit, by name.
    type: dict
    default: {}
  verdict_path:
    description: File that the verdict is written to. Its directory must exist. Without it nothing is written.
    type: path
  calibration_path:
    description: File that the calibration is written to. Without it none is written.
    type: path
  report_path:
    description:
      - File that the plan is written to as one HTML page, with what was measured and the verdict beside what was planned.
      - Deleted and written as the verdict is. Without it no page is written.
    type: path
  write:
    description:
      - What a verification found, as C(calibration), C(page) and C(verdict); it is written, and nothing is verified.
      - The action plugin sets it in its second call, as it makes the page on the controller. A task has no use for it.
    type: dict
"""

EXAMPLES = r"""
- name: Verify the server against its plan
  blackwell.inference.server_verify:
    unit: sglang-kimi.service
    url: http://127.0.0.1:30000
    plan: "{{ planned.plan }}"
    served_model_name: kimi-k2.5
    engine_version: "0.5.9"
    expected_unit:
      LimitMEMLOCK: infinity
      KillMode: control-group
    verdict_path: /var/lib/blackwell-inference/kimi/verdict.json
    calibration_path: /var/lib/blackwell-inference/kimi/calibration.json
    report_path: /var/lib/blackwell-inference/kimi/plan.html
"""

RETURN = r"""
verdict:
  description: The outcome, level by level. Null in check mode if nothing runs.
  type: dict
  returned: success, and on failure if there was a running unit to verify
  contains:
    schema: {type: int, returned: always, description: Version of this structure.}
    instance: {type: str, returned: always, description: Name of the instance.}
    passed: {type: bool, returned: always, description: Whether no check failed.}
    started: {type: str, returned: always, description: When the verification began (UTC).}
    finished: {type: str, returned: always, description: When the verification ended (UTC).}
    invocation_id: {type: str, returned: always, description: The run of the unit that was verified.}
    levels:
      description: The levels that were asked for.
      type: list
      elements: dict
      returned: always
      contains:
        level: {type: str, returned: always, description: One of O(levels).}
        passed: {type: bool, returned: always, description: Whether no check of the level failed.}
        checks:
          description: The checks of the level.
          type: list
          elements: dict
          returned: always
          contains:
            name: {type: str, returned: always, description: Name of the check.}
            outcome: {type: str, returned: always, description: "V(passed), V(failed) or V(skipped)."}
            expected: {type: raw, returned: always, description: "What was expected. Null if nothing was, as in a check that was skipped."}
            seen: {type: raw, returned: always, description: What was seen. Null if nothing was.}
            source: {type: str, returned: always, description: Where it was looked for.}
            message:
              description: What was seen, what was expected and, if they differ, what to do. Or why it was skipped.
              type: str
              returned: always
  sample:
    schema: 1
    instance: kimi
    passed: true
    started: "2026-02-24T10:00:00Z"
    finished: "2026-02-24T10:00:03Z"
    invocation_id: 5c1d7d1f9f3d4b0e8f3c1c3f7b8c9d0e
    levels:
      - level: journal
        passed: true
        checks:
          - name: max_total_num_tokens
            outcome: passed
            expected: 159294
            seen: 159277
            source: journal
            message: journal shows max_total_num_tokens 159277 tokens, within 954 tokens of 159294 tokens.
calibration:
  description:
    - Figures of this start for the next plan. Null if the journal no longer holds the whole start.
    - Figures of memory are those of the rank that has least left. What was not logged is not returned.
  type: dict
  returned: as RV(verdict)
  contains:
    schema: {type: int, returned: always, description: Version of this structure.}
    measured: {type: str, returned: always, description: "Where and when the figures were read, for example V(journal 2026-02-24)."}
    engine_version: {type: str, returned: always, description: Version of SGLang.}
    model:
      description: The model that was served.
      type: dict
      returned: always
      contains:
        name: {type: str, returned: always, description: Its name.}
        identity:
          description: Its checkpoint, as M(blackwell.inference.model_info) names it. Null if planned from a profile.
          type: str
          returned: always
    ranks: {type: int, returned: always, description: Ranks.}
    tokens: {type: int, returned: always, description: Tokens of the pool on each rank.}
    max_running_requests: {type: int, returned: always, description: Requests that run at once.}
    kv_bytes: {type: int, returned: if it was logged, description: Size of the pool on a rank.}
    host_cache_bytes_per_rank: {type: int, returned: with a host cache, description: Host cache of a rank.}
    start_seconds: {type: float, returned: always, description: Seconds from the start to the line that says that the server is up.}
    free_before_load_bytes:
      description: Free GPU memory before the weights were loaded.
      type: int
      returned: unless the engine runs on a CPU
    free_after_load_bytes:
      description: Free GPU memory with the model's weights loaded.
      type: int
      returned: unless the engine runs on a CPU
    draft_weights_bytes: {type: int, returned: with a draft model, description: Weights of the draft on a rank.}
    graph_bytes: {type: int, returned: if graphs were captured, description: Memory of the CUDA graphs.}
    free_after_graphs_bytes:
      description: Free GPU memory once the graphs were captured.
      type: int
      returned: unless the engine runs on a CPU
    graph_batch: {type: int, returned: unless the engine runs on a CPU, description: Largest batch of the decode graphs.}
    gpu_memory_total_bytes: {type: int, returned: unless the engine runs on a CPU, description: Memory of the smallest card.}
    arguments: {type: dict, returned: unless the engine runs on a CPU, description: Engine flags that the figures were measured with.}
  sample: {measured: journal 2026-02-24, engine_version: 0.5.9, ranks: 8, tokens: 159277, graph_bytes: 4026531840, start_seconds: 431.2}
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.sglang import api
from ansible_collections.blackwell.inference.plugins.module_utils.verify.calibration import calibration_of
from ansible_collections.blackwell.inference.plugins.module_utils.verify.evidence import Evidence, NotRunning, Question
from ansible_collections.blackwell.inference.plugins.module_utils.verify.planned import Planned
from ansible_collections.blackwell.inference.plugins.module_utils.verify.records import RecordPaths
from ansible_collections.blackwell.inference.plugins.module_utils.verify.verify import (
    LEVELS,
    failures,
    now,
    verdict_of,
    verify,
)

ARGUMENTS = {
    **api.ARGUMENTS,
    "plan": {"type": "dict", "required": True},
    "served_model_name": {"type": "str", "required": True},
    "engine_version": {"type": "str", "required": True},
    "levels": {"type": "list", "elements": "str", "choices": list(LEVELS), "default": list(LEVELS)},
    "expected_unit": {"type": "dict", "default": {}},
    "verdict_path": {"type": "path"},
    "calibration_path": {"type": "path"},
    "report_path": {"type": "path"},
    "write": {"type": "dict"},
}


def read_question(params: dict[str, Any]) -> Question:
    return Question(
        unit=params["unit"],
        server=api.Server(params["url"], params["api_key"]),
        planned=Planned.read(params["plan"]),
        served_model_name=params["served_model_name"],
        engine_version=params["engine_version"],
        expected_unit=params["expected_unit"],
    )


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    paths = RecordPaths() if module.check_mode else RecordPaths.of(module.params)
    try:
        if module.params["write"] is not None:
            paths.write(**module.params["write"])
            module.exit_json(changed=False)
        question = read_question(module.params)
        paths.remove_old()
        verify_server(module, question)
    except NotRunning as error:
        if module.check_mode:
            module.exit_json(changed=False, msg=str(error), verdict=None, calibration=None)
        module.fail_json(msg=str(error))
    except InferenceError as error:
        module.fail_json(msg=str(error), **error.details)
    except OSError as error:
        module.fail_json(
            msg=f"The verdict could not be written to {error.filename}: {error.strerror}. A directory that exists and is writable was expected."
        )


def verify_server(module: AnsibleModule, question: Question) -> None:
    """Ends the module with what was found."""
    params, started = module.params, now()
    evidence = Evidence(module.run_command, question)
    levels = verify(evidence, params["levels"])
    instance = params["unit"].removeprefix("sglang-").removesuffix(".service")
    verdict = verdict_of(levels, instance, evidence.unit.invocation_id, started, now())
    found = {
        "verdict": verdict,
        "calibration": calibration_of(question.planned, question.engine_version, evidence.start),
    }
    if not verdict["passed"]:
        module.fail_json(msg=f"{params['unit']} is not what was planned. " + " ".join(failures(levels)), **found)
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
