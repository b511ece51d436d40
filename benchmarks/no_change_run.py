# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run costs that has nothing to do: round trips to the host, and its wall time against a play that only gathers the same facts.

A round trip is one call of the connection's exec_command, put_file or fetch_file. The host is a test host dressed as the design host, with the
engine double deployed; both plays run in turn, so that what else the machine does falls on both.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from ansible_collections.blackwell.inference.tests.doubles.parts import make_parts
from ansible_collections.blackwell.inference.tests.integration.loop.machine import Machine, boot
from ansible_collections.blackwell.inference.tests.testhost import host as hosts
from ansible_collections.blackwell.inference.tests.testhost.site import this_site

RUNS = 5
MOST_ROUND_TRIPS = 15
FACTS = Path(__file__).with_name("gather_facts_only.yml")


def round_trips(machine: Machine, directory: Path) -> int:
    """Round trips of one run of deploy.yml in which nothing has to change."""
    counts = directory / "round-trips"
    counts.unlink(missing_ok=True)
    environment = {"ANSIBLE_CALLBACKS_ENABLED": "count_round_trips", "ROUND_TRIPS": str(counts)}
    machine.play("deploy.yml", environment=environment).expect(changed=0)
    return len(counts.read_text(encoding="utf-8").splitlines())


def seconds(machine: Machine, playbook: str) -> float:
    began = time.monotonic()
    machine.play(playbook).expect(changed=0)
    return time.monotonic() - began


def main() -> int:
    site = this_site()
    hosts.gc(site)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        directory.chmod(0o755)
        machine = boot(site, "benchmark", make_parts(directory / "srv"), directory)
        try:
            machine.play("deploy.yml").expect()
            trips = round_trips(machine, directory)
            whole, facts = [], []
            for _run in range(RUNS):
                whole.append(seconds(machine, "deploy.yml"))
                facts.append(seconds(machine, str(FACTS)))
        finally:
            hosts.down(machine.host)
    ratio = statistics.median(whole) / statistics.median(facts)
    print(f"round trips of a run without a change: {trips} (at most {MOST_ROUND_TRIPS})")
    print(f"wall time of that run against a play that only gathers its facts: {ratio:.2f} ({RUNS} runs each, medians)")
    return 0 if trips <= MOST_ROUND_TRIPS else 1


if __name__ == "__main__":
    sys.exit(main())
