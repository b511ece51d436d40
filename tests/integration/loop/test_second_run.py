# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second run: nothing to do is nothing done; what was spoilt is put right; one change costs one restart, or none."""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.blackwell.inference.tests.integration.loop.machine import (
    MEMINFO,
    UNIT,
    Machine,
    Played,
    describe_memory,
)

pytestmark = pytest.mark.testhost
CONFIG = "/etc/sglang/kimi/server.yaml"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
RECORDS = "/var/lib/blackwell-inference/kimi"
FILES = "Files | Write the files that differ"
START = "Start | Start the engine, at boot as well"


def invocation(machine: Machine) -> str:
    return machine.show(UNIT, "InvocationID")["InvocationID"]


def verdict(machine: Machine) -> dict[str, object]:
    return json.loads(machine.run("cat", f"{RECORDS}/verdict.json"))


def starts(machine: Machine) -> int:
    """How often systemd started the unit, by the messages it gives each of its starts."""
    return machine.run("journalctl", "--unit", UNIT, "--output", "cat").count("server_args=")


def written(run: Played) -> list[str]:
    """The files that a run wrote, by the names that the role has for them."""
    return re.findall(r"^changed: \[[^\]]*\] => \(item=([\w-]+)\)", run.text, re.MULTILINE)


def test_nothing_to_do_is_nothing_done_and_is_verified_again(deployed):
    before, verified = invocation(deployed), verdict(deployed)["started"]
    deployed.play("deploy.yml").expect(changed=0)
    assert invocation(deployed) == before
    assert verdict(deployed)["started"] != verified
    assert verdict(deployed)["passed"] is True


def test_what_the_process_does_not_feel_is_put_right_without_a_restart(deployed):
    before = invocation(deployed)
    read_by_people = {"inference_description": "The one on the third floor", "inference_labels": {"rack": "r7"}}
    run = deployed.play("deploy.yml", **read_by_people).expect()
    assert (run.changed_tasks, written(run)) == ([FILES], ["unit", "labels"])
    assert invocation(deployed) == before

    deployed.spoil(f"echo '# by hand' >>{CONFIG}; chown nobody {RECORDS}/plan.json")
    run = deployed.play("deploy.yml").expect()
    assert (run.changed_tasks, written(run)) == ([FILES], ["config", "unit", "plan", "labels"])
    assert invocation(deployed) == before

    deployed.spoil(f"chmod 0666 {CONFIG}; sed -i 's/^Restart=.*/Restart=always/' {UNIT_FILE}; systemctl disable {UNIT}")
    run = deployed.play("deploy.yml").expect()
    assert (run.changed_tasks, written(run)) == ([FILES, START], ["config", "unit"])
    assert invocation(deployed) == before


def test_a_server_swapped_underneath_fails_the_verification_and_is_replaced_once(deployed):
    change = f"sed -i 's/^mem-fraction-static: .*/mem-fraction-static: 0.85/' {CONFIG}"
    deployed.spoil(f"{change} && systemctl restart {UNIT}")
    run = deployed.play("verify.yml")
    assert run.returncode != 0
    failed = [
        check["name"]
        for level in run.failure["verdict"]["levels"]
        for check in level["checks"]
        if check["outcome"] == "failed"
    ]
    assert "mem_fraction_static" in failed
    assert verdict(deployed)["passed"] is False

    change = f"sed -i 's/^LimitNOFILE=.*/LimitNOFILE=1000/' {UNIT_FILE} && systemctl daemon-reload && systemctl restart {UNIT}"
    drop_in = f"mkdir -p {UNIT_FILE}.d && printf '[Service]\\nEnvironment=NCCL_DEBUG=INFO\\n' >{UNIT_FILE}.d/own.conf"
    deployed.spoil(f"{change} && {drop_in} && systemctl daemon-reload")
    before = starts(deployed)
    run = deployed.play("deploy.yml").expect()
    assert "mem-fraction-static: 0.85 becomes 0.88" in run.text
    assert "LimitNOFILE: 1000 becomes 1048576" in run.text
    assert f"the drop-in {UNIT_FILE}.d/own.conf changes what is started" in run.text
    assert starts(deployed) == before + 1
    assert_replaced_once(deployed, run)
    assert verdict(deployed)["passed"] is True


def assert_replaced_once(machine: Machine, run: Played) -> None:
    assert START in run.changed_tasks
    assert machine.show(UNIT, "DropInPaths", "NRestarts") == {"DropInPaths": "", "NRestarts": "0"}


def test_a_check_tells_of_the_restart_and_leaves_the_server_alone(deployed):
    before = invocation(deployed)
    run = deployed.play("deploy.yml", "--check", "--diff", inference_serving={"mem_fraction_static": 0.85}).expect()
    assert "Reasons: mem-fraction-static: 0.88 becomes 0.85." in run.text
    assert "-mem-fraction-static: 0.88\n+mem-fraction-static: 0.85" in run.text
    assert invocation(deployed) == before


def test_one_changed_flag_is_exactly_one_restart(deployed):
    before = starts(deployed)
    run = deployed.play("deploy.yml", inference_serving={"mem_fraction_static": 0.85}).expect()
    assert "Reasons: mem-fraction-static: 0.88 becomes 0.85." in run.text
    assert starts(deployed) == before + 1
    deployed.play("deploy.yml", inference_serving={"mem_fraction_static": 0.85}).expect(changed=0)
    assert starts(deployed) == before + 1


PROXY = {"http_proxy": "http://127.0.0.1:9"}


def test_a_server_on_every_address_is_reached_past_a_proxy(kimi):
    proxy = {**kimi.variables["inference_environment"], **PROXY}
    kimi.play("deploy.yml", inference_address="::", inference_environment=proxy).expect()


def test_a_key_is_asked_for_and_shown_nowhere(kimi):
    """On every address and past a proxy as well."""
    key = "sk-quite-secret-4711"
    proxy = {**kimi.variables["inference_environment"], **PROXY}
    everywhere = {"inference_address": "0.0.0.0", "inference_environment": proxy}
    run = kimi.play("deploy.yml", "-vvv", "--diff", inference_api_key=key, **everywhere).expect()
    shown = run.text.replace(json.dumps(key), "")  # ansible-playbook repeats its own command line
    told = [line for line in shown.splitlines() if key in line]
    assert told == []
    assert "api-key is new" in run.text
    records = kimi.run(
        "sh",
        "-c",
        f"grep -rls {key} /etc /opt/blackwell-inference /run /root /tmp /usr/local /var --exclude-dir=journal || true",
    )
    assert set(records.split()) <= {CONFIG, "/run/sglang-kimi/started/server.yaml"}
    answer = kimi.run(
        "sh",
        "-c",
        "/usr/bin/python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.1:30000/v1/models')\" 2>&1 || true",
    )
    assert "401" in answer


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (f"systemctl stop {UNIT}", f"{UNIT} is failed"),  # SGLang 0.5.9 ends an orderly stop by killing itself
        (f"systemctl kill --signal=KILL {UNIT}; sleep 1; cat {MEMINFO}.full >{MEMINFO}", f"{UNIT} is activating"),
        ("rm -r /run/sglang-kimi/started", "the config that the running process was started with is not recorded"),
    ],
    ids=["stopped", "killed", "record of the start lost"],
)
def test_a_process_that_is_not_there_or_not_known_is_replaced_once(kimi, spoil, reason):
    kimi.spoil(spoil)
    run = kimi.play("deploy.yml").expect()
    assert reason in run.text
    assert_replaced_once(kimi, run)


SECOND = {"inference_instance": "second", "inference_port": 30001, "inference_serving": {"hicache": False}}


def test_a_second_instance_on_the_same_gpus_is_refused_before_anything_is_touched(deployed):
    before, tree = invocation(deployed), deployed.tree()
    # The double's ranks have the nodes open and no memory; a rank of the real engine is on NVML's list with all of its own.
    main = deployed.show(UNIT, "MainPID")["MainPID"]
    memory = f"d=/run/fake-nvml/0; mkdir -p $d; for pid in $(cat /proc/{main}/task/{main}/children); do echo {16 << 20} >$d/$pid; done"
    deployed.run("sh", "-c", memory)
    refused = deployed.play("deploy.yml", **SECOND)
    deployed.run("rm", "-r", "/run/fake-nvml/0")
    message = refused.failure["msg"]
    assert re.match(r"GPU 0 has .* in use and is held by .*sglang::schedul", message)
    assert "Nothing shows that it is ours" in message
    assert "or name the executable or the unit in allow" in message
    assert invocation(deployed) == before
    assert deployed.tree() == tree


def test_a_second_instance_beside_it_changes_nothing_of_the_first(deployed):
    before = invocation(deployed)
    second = {**SECOND, "inference_gpu_allow": [UNIT]}
    deployed.play("deploy.yml", **second).expect()
    deployed.play("deploy.yml").expect(changed=0)
    assert invocation(deployed) == before
    deployed.spoil(
        "set -e; systemctl stop sglang-second; systemctl disable sglang-second; systemctl daemon-reload;"
        " rm -r /etc/sglang/second /etc/systemd/system/sglang-second.service /var/lib/blackwell-inference/second; systemctl daemon-reload"
    )
    assert deployed.show("sglang-second.service", "ActiveState", "LoadState")["ActiveState"] in ("inactive", "failed")


def test_after_all_that_and_a_boot_the_server_is_there_and_nothing_is_left_to_do(deployed):
    before = deployed.host.boot_id
    deployed.host.reboot()
    describe_memory(deployed.host)
    assert deployed.host.boot_id != before
    deployed.spoil(f"systemctl restart {UNIT}")  # the first start after the boot did not yet see the memory described
    running = invocation(deployed)
    deployed.play("deploy.yml").expect(changed=0)
    assert invocation(deployed) == running
    assert deployed.show(UNIT, "UnitFileState", "ActiveState") == {"UnitFileState": "enabled", "ActiveState": "active"}


def test_a_hand_made_unit_is_adopted_with_a_backup(kimi):
    kimi.forget_instance()
    made = f"printf '[Service]\\nExecStart=/bin/sleep 1000\\n' >{UNIT_FILE}"
    kimi.spoil(f"{made} && systemctl daemon-reload && systemctl start {UNIT}")
    run = kimi.play("deploy.yml", "--diff").expect()
    assert "-ExecStart=/bin/sleep 1000" in run.text
    backups = kimi.run("sh", "-c", f"cat {UNIT_FILE}.*~")
    assert backups == "[Service]\nExecStart=/bin/sleep 1000\n"
    kimi.play("deploy.yml").expect(changed=0)
