#!/usr/bin/python
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_ready
short_description: Wait until an inference server is ready, and tell loading from hung from dead
version_added: 0.1.0
author:
  - blackwell.inference contributors (@blackwell-inference)
description:
  - Watches a unit while the engine starts. It succeeds as soon as the server is ready, and fails at once, with the journal's reason, when the unit fails.
  - A start that still makes progress is never given up, however slow it is. A start is called hung when neither the journal, nor the bytes read by its
    processes, nor their memory, nor the set of them moved for O(stall_seconds). CPU time is no progress, because ranks in a deadlock spin.
  - Ready means that the unit is active, that the journal of this invocation says that the server is up, and that the model list answers. When the journal
    no longer holds the start, the model list and a token counter of the unit's own process take its place. The C(/health) endpoint decides nothing.
  - Used as a task, the action plugin of the same name calls the module on the host again and again and shows progress. The module alone watches for
    O(observe_seconds) and returns.
extends_documentation_fragment:
  - blackwell.inference.attributes
  - blackwell.inference.server
attributes:
  check_mode:
    support: full
    details: Takes one look, waits for nothing, and does not fail because nothing runs.
  diff_mode:
    support: none
options:
  engine_version:
    description: Version of SGLang, for messages.
    type: str
  estimate_seconds:
    description: How long the plan expects the start to take. Shown only; a start that takes longer is not hung.
    type: float
  shards:
    description: Number of weight files, shown until the engine names it.
    type: int
  pinned_bytes_total:
    description: Bytes of host memory that the ranks will pin in all, for the display.
    type: int
  stall_seconds:
    description: Without any progress for this long, a start is called hung.
    type: float
    default: 300
  observe_seconds:
    description: How long one call on the host watches.
    type: float
    default: 5
  watch:
    description: What the last call returned under RV(watch). The action plugin passes it on; a task has no use for it.
    type: dict
"""

EXAMPLES = r"""
- name: Wait for the server, however long the weights take
  blackwell.inference.server_ready:
    unit: sglang-kimi.service
    url: http://127.0.0.1:30000
    estimate_seconds: "{{ planned.plan.start.estimate_seconds }}"
    shards: "{{ planned.plan.start.shards }}"
"""

RETURN = r"""
readiness:
  description: What the last look showed.
  type: dict
  returned: success, and on failure unless the unit could not be read
  contains:
    state: {type: str, returned: always, description: "V(ready), V(loading), V(hung), V(failed), V(dead) or V(stopped)."}
    phase:
      description: >-
        The last milestone of the start. V(starting), V(connecting ranks), V(loading weights), V(sizing pools), V(capturing graphs),
        V(building caches), V(pinning host memory), V(warming up) or V(ready).
      type: str
      returned: always
    shards_loaded: {type: int, returned: always, description: Weight files loaded so far.}
    shards_total: {type: int, returned: always, description: Weight files in all. Null if it is not known.}
    pinned_bytes: {type: int, returned: always, description: Host memory that was pinned so far.}
    elapsed_seconds: {type: float, returned: always, description: "Seconds since the start, up to the moment when the server was up."}
    estimate_seconds: {type: float, returned: always, description: What O(estimate_seconds) said. Null without it.}
    silent_seconds: {type: float, returned: always, description: Seconds since any counter moved.}
    progress:
      description: The counters.
      type: dict
      returned: always
      contains:
        journal_lines: {type: int, returned: always, description: "Lines of the journal since the start, without those of the access log."}
        bytes_read: {type: int, returned: always, description: "Bytes that the unit's processes read, without small reads."}
        resident_bytes: {type: int, returned: always, description: "Memory of the unit's processes, that of files included."}
        locked_bytes:
          description: Locked and pinned memory of the unit's processes, as far as the kernel accounts it.
          type: int
          returned: always
        processes: {type: int, returned: always, description: Processes of the unit.}
    reason: {type: str, returned: always, description: "What is wrong, what was expected and what to do. Null if nothing is wrong."}
    journal:
      description: Last lines of the journal, without secrets. Empty if nothing is wrong.
      type: list
      elements: str
      returned: always
    unit_result: {type: str, returned: always, description: "What systemd says of the unit's last run."}
  sample:
    state: loading
    phase: loading weights
    shards_loaded: 12
    shards_total: 64
    pinned_bytes: 0
    elapsed_seconds: 95.2
    estimate_seconds: 430.0
    silent_seconds: 1.0
    progress: {journal_lines: 212, bytes_read: 4294967296, resident_bytes: 8589934592, locked_bytes: 0, processes: 11}
    reason: null
    journal: []
    unit_result: success
watch:
  description: What the next call needs to go on watching the same start. Private to the collection.
  type: dict
  returned: to the action plugin alone, never to a task
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.blackwell.inference.plugins.module_utils.core.errors import InferenceError
from ansible_collections.blackwell.inference.plugins.module_utils.sglang import api
from ansible_collections.blackwell.inference.plugins.module_utils.wait.readiness import LOADING, READY
from ansible_collections.blackwell.inference.plugins.module_utils.wait.watch import Watch, Wish, watch_start

ARGUMENTS = {
    **api.ARGUMENTS,
    "engine_version": {"type": "str"},
    "estimate_seconds": {"type": "float"},
    "shards": {"type": "int"},
    "pinned_bytes_total": {"type": "int"},
    "stall_seconds": {"type": "float", "default": 300},
    "observe_seconds": {"type": "float", "default": 5},
    "watch": {"type": "dict"},
}


def read_wish(params: dict[str, Any]) -> Wish:
    return Wish(
        unit=params["unit"],
        engine=f"SGLang {params['engine_version']}" if params["engine_version"] else "the engine",
        server=api.Server(params["url"], params["api_key"]),
        stall_seconds=params["stall_seconds"],
        estimate_seconds=params["estimate_seconds"],
        shards=params["shards"],
        pinned_bytes_total=params["pinned_bytes_total"],
    )


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    watch = Watch.from_dict(module.params["watch"])
    try:
        readiness = watch_start(
            module.run_command,
            read_wish(module.params),
            watch,
            0 if module.check_mode else module.params["observe_seconds"],
        )
    except InferenceError as error:
        module.fail_json(msg=str(error), **error.details)
    result = {"readiness": readiness, "watch": watch.as_dict()}
    if readiness["state"] in (READY, LOADING) or module.check_mode:
        module.exit_json(changed=False, **result)
    module.fail_json(msg=readiness["reason"], **result)


if __name__ == "__main__":
    main()
