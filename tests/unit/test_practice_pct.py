"""The stand-in ``pct``: Proxmox's texts and exit codes, and the state behind them."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest

from nomos.rehearsal.host.state import Practice
from tests.harness.practice import Paper, Ran, run_in_practice_shell

DEBIAN = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"
CREATE = f"pct create 105 {DEBIAN} --hostname web --memory 512 --cores 1 --rootfs local-lvm:4"
NET = "--net0 name=eth0,bridge=vmbr0,ip=dhcp"
CREATE_USAGE = "pct create <vmid> <ostemplate> [OPTIONS]\n"
BAD = "400 Parameter verification failed.\n"


def bad_net0(complaint: str) -> str:
    """What ``pct create`` says when a part of ``--net0`` is wrong."""
    return f"{BAD}net0: invalid format - format error\nnet0.{complaint}\n\n{CREATE_USAGE}"


def run(folder: Path, *texts: str) -> Ran:
    """Run several texts one after the other; the last one's outcome."""
    *before, last = texts
    for text in before:
        ran = run_in_practice_shell(folder, text)
        assert ran.code == 0, (text, ran)
    return run_in_practice_shell(folder, last)


def test_the_story_of_a_container(tmp_path: Path) -> None:
    made = run(tmp_path, f"{CREATE} {NET} --unprivileged 1")
    assert made.code == 0
    assert made.err == ""
    lines = made.out.splitlines()
    assert lines[0] == '  Logical volume "vm-105-disk-0" created.'
    assert lines[1] == "Creating filesystem with 1048576 4k blocks and 262144 inodes"
    assert lines[2].startswith("Filesystem UUID: ")
    assert lines[3:6] == [
        "Superblock backups stored on blocks: ",
        "\t32768, 98304, 163840, 229376, 294912, 819200, 884736",
        "",
    ]
    assert lines[6] == "extracting archive '/var/lib/vz/template/cache/debian-12-standard_12.7-1_amd64.tar.zst'"
    assert re.fullmatch(r"Total bytes read: \d+ \(\d+MiB, \d+MiB/s\)", lines[7])
    assert lines[8] == "Detected container architecture: amd64"
    assert lines[9] == "Creating SSH host key 'ssh_host_rsa_key' - this may take some time ..."
    assert re.fullmatch(r"done: SHA256:[A-Za-z0-9+/]{43} root@web", lines[10])
    assert run(tmp_path, "pct status 105") == Ran(0, "status: stopped\n", "")
    assert run(tmp_path, "pct start 105") == Ran(0, "", "")
    assert run(tmp_path, "pct status 105") == Ran(0, "status: running\n", "")
    assert run(tmp_path, "pct exec 105 -- hostname") == Ran(0, "web\n", "")
    assert run(tmp_path, "pct destroy 105") == Ran(255, "", "unable to destroy CT 105 - container is running\n")
    assert run(tmp_path, "pct stop 105") == Ran(0, "", "")
    assert run(tmp_path, "pct destroy 105") == Ran(0, '  Logical volume "vm-105-disk-0" successfully removed.\n', "")
    assert "105" not in run(tmp_path, "pct list").out


def test_a_create_takes_six_to_eight_seconds_in_pieces(tmp_path: Path) -> None:
    paper = Paper()
    run_in_practice_shell(tmp_path, CREATE, paper)
    assert 6 <= paper.worked <= 8
    assert len(paper.outs) >= 8


def test_an_upgrade_takes_about_twenty_seconds_in_pieces(tmp_path: Path) -> None:
    paper = Paper()
    ran = run_in_practice_shell(tmp_path, "pct exec 101 -- apt-get -y dist-upgrade", paper)
    assert ran.code == 0
    assert 18 <= paper.worked <= 26
    assert len(paper.outs) > 30
    again = run(tmp_path, "pct exec 101 -- apt-get -y dist-upgrade")
    assert "0 upgraded, 0 newly installed" in again.out


@pytest.mark.parametrize(
    ("lines", "piped", "goes_on"),
    [((), "", False), (("n",), "", False), (("",), "", True), (("Y",), "", True), ((), "echo y | ", True)],
)
def test_an_upgrade_without_y_asks_first(tmp_path: Path, lines: tuple[str, ...], piped: str, goes_on: bool) -> None:
    command = f"{piped}pct exec 101 -- apt-get dist-upgrade"
    ran = run_in_practice_shell(tmp_path, command, Paper(*lines))
    assert "\nDo you want to continue? [Y/n] " in ran.out
    assert ("Abort." in ran.out, ran.code) == ((False, 0) if goes_on else (True, 1))
    assert ("Setting up" in ran.out) is goes_on


def test_list_is_a_table_sorted_by_id_and_nothing_at_all_when_empty(tmp_path: Path) -> None:
    run(tmp_path, f"pct create 99999 {DEBIAN} --rootfs local-lvm:4")
    header, *rows = run(tmp_path, "pct list").out.splitlines()
    assert header == "VMID       Status     Lock         Name                "
    assert [row.split()[0] for row in rows] == ["101", "103", "99999"]
    assert rows[0] == "101        running                 dns                 "
    run(tmp_path, "pct destroy 101 --force", "pct destroy 103", "pct destroy 99999")
    assert run(tmp_path, "pct list") == Ran(0, "", "")


def test_config_is_sorted_and_says_what_was_asked_for(tmp_path: Path) -> None:
    run(tmp_path, f"{CREATE} {NET}")
    config = run(tmp_path, "pct config 105").out.splitlines()
    assert config == sorted(config)
    assert "hostname: web" in config
    assert "rootfs: local-lvm:vm-105-disk-0,size=4G" in config
    assert "unprivileged: 1" in config
    net = next(line for line in config if line.startswith("net0"))
    assert re.fullmatch(r"net0: name=eth0,bridge=vmbr0,hwaddr=BC:24:11(:[0-9A-F]{2}){3},ip=dhcp,type=veth", net)
    assert not any(line.startswith("lock") for line in config)


EARLY = [
    # nothing there
    ("pct status 999", 2, "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"),
    ("pct config 999", 2, "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"),
    ("pct set 999 --cores 1", 2, "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"),
    ("pct destroy 999", 2, "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"),
    ("pct exec 999 -- true", 2, "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"),
    # the wrong state
    ("pct stop 999", 255, "CT 999 not running\n"),
    ("pct stop 103", 255, "CT 103 not running\n"),
    ("pct shutdown 103", 255, "CT 103 not running\n"),
    ("pct reboot 103", 255, "VM 103 not running\n"),
    ("pct start 101", 255, "CT 101 already running\n"),
    ("pct destroy 101", 255, "unable to destroy CT 101 - container is running\n"),
    ("pct exec 103 -- true", 255, "container '103' not running!\n"),
    ("pct exec 101", 255, "missing command at /usr/share/perl5/PVE/CLI/pct.pm line 189.\n"),
    ("pct unlock 101", 255, "no lock found trying to remove any lock\n"),
    # create
    (f"pct create 101 {DEBIAN} --rootfs local-lvm:4", 255, "CT 101 already exists on node 'pve1'\n"),
    ("pct create 105 x --rootfs local-lvm:4", 255, "unable to parse volume ID 'x'\n"),
    ("pct create 105 local:x --rootfs local-lvm:4", 255, "unable to parse directory volume name 'x'\n"),
    ("pct create 105 nfs1:vztmpl/x.tar.gz --rootfs local-lvm:4", 255, "storage 'nfs1' does not exist\n"),
    (f"pct create 105 {DEBIAN} --rootfs nfs1:4", 255, "storage 'nfs1' does not exist\n"),
    (
        "pct create 105 local:iso/x.iso --rootfs local-lvm:4",
        255,
        "unable to use volume local:iso/x.iso - content type needs to be 'vztmpl'\n",
    ),
    (
        f"pct create 105 {DEBIAN}",
        255,
        f"{BAD}storage: storage 'local' does not support container directories\n{CREATE_USAGE}",
    ),
    # parameters
    (
        "pct status 99",
        255,
        f"{BAD}vmid: invalid format - value does not look like a valid VM ID\npct status <vmid> [OPTIONS]\n",
    ),
    ("pct status abc", 255, f"{BAD}vmid: type check ('integer') failed - got 'abc'\npct status <vmid> [OPTIONS]\n"),
    (f"{CREATE} --memory 8", 255, f"{BAD}memory: value must have a minimum value of 16\n{CREATE_USAGE}"),
    (f"{CREATE} --memory 1G", 255, f"{BAD}memory: type check ('integer') failed - got '1G'\n{CREATE_USAGE}"),
    (
        f"{CREATE} --hostname bad_host!",
        255,
        f"{BAD}hostname: invalid format - value does not look like a valid DNS name\n{CREATE_USAGE}",
    ),
    (f"{CREATE} --password abc", 255, f"{BAD}password: value must be at least 5 characters long\n{CREATE_USAGE}"),
    (f"{CREATE} --net0 bridge=vmbr0", 255, bad_net0("name: property is missing and it is not optional")),
    (
        f"{CREATE} --net0 name=eth0,ip=10.0.0.5",
        255,
        bad_net0("ip: invalid format - value does not look like a valid ipv4 network configuration"),
    ),
    (
        f"{CREATE} --net0 name=eth0,foo=1",
        255,
        bad_net0("foo: property is not defined in schema and the schema does not allow additional properties"),
    ),
    (
        f"{CREATE} --net0 eth0",
        255,
        f"{BAD}net0: invalid format - value without key, but schema does not define a default key\n{CREATE_USAGE}",
    ),
    (f"{CREATE} --net0 name=eth0,tag=5000", 255, bad_net0("tag: value must have a maximum value of 4094")),
    (
        f"{CREATE} --net0 name=eth0,hwaddr=01:00:00:00:00:00",
        255,
        bad_net0("hwaddr: invalid format - value does not look like a valid unicast MAC address"),
    ),
    (f"{CREATE} --bogus 1", 255, f"Unknown option: bogus\n400 unable to parse option\n{CREATE_USAGE}"),
    ("pct create 105", 255, f"400 not enough arguments\n{CREATE_USAGE}"),
    ("pct start 101 102", 255, "400 too many arguments\npct start <vmid> [OPTIONS]\n"),
    # set
    ("pct set 101", 255, "no options specified\n"),
    ("pct set 101 --unprivileged 0", 255, "unable to modify read-only option: 'unprivileged'\n"),
    ("pct set 101 --delete rootfs", 255, "unable to delete required option 'rootfs'\n"),
    (
        "pct set 101 --mp0 local:4,mp=/data",
        255,
        "storage 'local' does not allow content type 'rootdir' (Container)\n",
    ),
    # snapshots, clones, disks
    ("pct snapshot 101 current", 255, "unable to use snapshot name 'current' (reserved name)\n"),
    (
        "pct snapshot 101 1x",
        255,
        f"{BAD}snapname: invalid format - invalid configuration ID '1x'\npct snapshot <vmid> <snapname> [OPTIONS]\n",
    ),
    ("pct rollback 101 s9", 255, "snapshot 's9' does not exist\n"),
    ("pct delsnapshot 101 s9", 255, "snapshot 's9' does not exist\n"),
    ("pct clone 101 103", 255, "CT 103 already exists on node 'pve1'\n"),
    ("pct clone 101 110", 255, "Full clone of a running container is only possible from a snapshot\n"),
    (
        "pct clone 103 110 --full 0",
        255,
        "Linked clone feature for 'local-lvm:vm-103-disk-0' is not available\n",
    ),
    ("pct resize 101 rootfs 2G", 255, "unable to shrink disk size\n"),
    ("pct resize 101 rootfs 4G", 255, "disk is already at specified size\n"),
]


@pytest.mark.parametrize(("text", "code", "err"), EARLY, ids=[text for text, _, _ in EARLY])
def test_a_refusal_has_the_exact_text_and_changes_nothing(tmp_path: Path, text: str, code: int, err: str) -> None:
    before = run(tmp_path, "pct list; pct config 101; pct config 103")
    assert run(tmp_path, text) == Ran(code, "", err)
    assert run(tmp_path, "pct list; pct config 101; pct config 103") == before


def test_a_missing_template_is_found_after_the_disk_was_made_and_nothing_stays(tmp_path: Path) -> None:
    text = "volume 'local:vztmpl/x.tar.zst' does not exist"
    ran = run(tmp_path, "pct create 105 local:vztmpl/x.tar.zst --rootfs local-lvm:4")
    assert ran.code == 255
    assert ran.err == f"unable to create CT 105 - {text}\n"
    assert ran.out.startswith('  Logical volume "vm-105-disk-0" created.\n')
    assert ran.out.count(f"{text}\n") == 1
    assert ran.out.endswith('  Logical volume "vm-105-disk-0" successfully removed.\n')
    assert run(tmp_path, "pct status 105").code == 2
    path = run(tmp_path, "pct create 105 /x.tar.zst --rootfs local-lvm:4")
    assert path.err == "unable to create CT 105 - can't find file '/x.tar.zst'\n"


def test_a_missing_bridge_is_found_at_the_start(tmp_path: Path) -> None:
    ran = run(tmp_path, f"{CREATE} --net0 name=eth0,bridge=vmbr9", "pct start 105")
    assert ran == Ran(255, "bridge 'vmbr9' does not exist\n", "startup for container '105' failed\n")


def test_start_of_a_missing_container_fails_in_the_task(tmp_path: Path) -> None:
    ran = run(tmp_path, "pct start 999")
    assert ran.err == "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"


def test_a_lock_stands_in_the_way_until_it_is_removed(tmp_path: Path) -> None:
    run(tmp_path, "pct set 103 --lock backup")
    assert "103        stopped    backup       media" in run(tmp_path, "pct list").out
    for text in (
        "pct start 103",
        "pct set 103 --cores 2",
        "pct destroy 103",
        "pct snapshot 103 s1",
        "pct clone 103 110",
    ):
        assert run(tmp_path, text) == Ran(255, "", "CT is locked (backup)\n")
    assert run(tmp_path, "pct unlock 103") == Ran(0, "", "")
    assert run(tmp_path, "pct start 103").code == 0


def test_protection_and_force(tmp_path: Path) -> None:
    run(tmp_path, "pct set 101 --protection 1")
    assert run(tmp_path, "pct destroy 101 --force").err == "can't remove CT 101 - protection mode enabled\n"
    run(tmp_path, "pct set 101 --delete protection")
    ran = run(tmp_path, "pct destroy 101 --force --purge")
    assert ran == Ran(
        0,
        "forced to stop CT 101 before destroying!\n"
        '  Logical volume "vm-101-disk-0" successfully removed.\n'
        "purging CT 101 from related configurations..\n",
        "",
    )


def test_snapshots_form_a_tree_and_a_rollback_stops_the_container(tmp_path: Path) -> None:
    run(tmp_path, "pct snapshot 101 before", "pct set 101 --hostname renamed", "pct snapshot 101 after --description x")
    first, second, last = run(tmp_path, "pct listsnapshot 101").out.splitlines()
    assert re.fullmatch(r"`-> before {20} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d {5}no-description", first)
    assert re.fullmatch(r" `-> after {20} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d {5}x", second)
    assert re.fullmatch(r"  `-> current {42}You are here!", last)
    assert run(tmp_path, "pct snapshot 101 after").err == "snapshot name 'after' already used\n"
    assert run(tmp_path, "pct rollback 101 before").code == 0
    assert run(tmp_path, "pct status 101").out == "status: stopped\n"
    assert "hostname: dns\n" in run(tmp_path, "pct config 101").out
    assert run(tmp_path, "pct rollback 101 after --start").code == 0
    assert run(tmp_path, "pct status 101").out == "status: running\n"
    removed = run(tmp_path, "pct delsnapshot 101 before")
    assert removed.out == '  Logical volume "snap_vm-101-disk-0_before" successfully removed.\n'
    assert run(tmp_path, "pct listsnapshot 101").out.startswith("`-> after")


def test_templates_cannot_run_and_are_cloned_linked(tmp_path: Path) -> None:
    assert run(tmp_path, "pct template 101").err == "you can't convert a CT to template if the CT is running\n"
    run(tmp_path, "pct template 103")
    assert run(tmp_path, "pct start 103").err == "you can't start a CT if it's a template\n"
    assert run(tmp_path, "pct snapshot 103 s1").err == "you can't take a snapshot if it's a template\n"
    cloned = run(tmp_path, "pct clone 103 110 --hostname copy")
    assert cloned.out.startswith("create linked clone of mount point rootfs (local-lvm:vm-103-disk-0)\n")
    assert "rootfs: local-lvm:vm-110-disk-0,size=16G\n" in run(tmp_path, "pct config 110").out


def test_set_and_resize_change_the_configuration(tmp_path: Path) -> None:
    run(tmp_path, "pct set 101 --memory 1024 --mp0 local-lvm:8,mp=/data", "pct resize 101 rootfs +2G")
    config = run(tmp_path, "pct config 101").out
    assert "memory: 1024\n" in config
    assert "mp0: local-lvm:vm-101-disk-1,mp=/data,size=8G\n" in config
    assert "rootfs: local-lvm:vm-101-disk-0,size=6G\n" in config


@pytest.mark.parametrize(
    ("command", "code", "out"),
    [
        ("hostname", 0, "dns\n"),
        ("sh -c 'exit 7'", 7, ""),
        ('sh -c "hostname && whoami"', 0, "dns\nroot\n"),
        ("systemctl is-system-running", 0, "running\n"),
        ("systemctl is-active ssh", 0, "active\n"),
        ("true", 0, ""),
        ("false", 1, ""),
    ],
)
def test_exec_answers_as_the_command_does(tmp_path: Path, command: str, code: int, out: str) -> None:
    assert run(tmp_path, f"pct exec 101 -- {command}") == Ran(code, out, "")


def test_exec_of_an_unknown_program_is_127(tmp_path: Path) -> None:
    ran = run(tmp_path, "pct exec 101 -- nginx -t")
    assert ran == Ran(
        127,
        "",
        "lxc-attach: 101: ../src/lxc/attach.c: lxc_attach_run_command: 1841 No such file or directory"
        ' - Failed to exec "nginx"\n',
    )


def test_exec_shows_the_containers_own_files_and_address(tmp_path: Path) -> None:
    assert "Debian GNU/Linux 12" in run(tmp_path, "pct exec 101 -- cat /etc/os-release").out
    assert "inet 192.168.1.201/24" in run(tmp_path, "pct exec 101 -- ip a").out


def test_unknown_and_abbreviated_commands(tmp_path: Path) -> None:
    assert run(tmp_path, "pct statu 101").out == "status: running\n"
    assert run(tmp_path, "pct st 101").err.startswith("ERROR: incomplete command 'pct st'\nUSAGE: pct <COMMAND> ")
    unknown = run(tmp_path, "pct nosuch")
    assert unknown.code == 255
    assert unknown.err.startswith("ERROR: unknown command 'pct nosuch'\nUSAGE: pct <COMMAND> [ARGS] [OPTIONS]\n")
    assert run(tmp_path, "pct help").out == unknown.err.partition("\n")[2]


def test_every_call_is_logged_once_with_its_exit_code(tmp_path: Path) -> None:
    run_in_practice_shell(tmp_path, "pct status 101; pct status 999; pct exec 101 -- sh -c 'exit 7'")
    calls = Practice(tmp_path).calls()
    assert [(call.words, call.exit_code) for call in calls] == [
        (["status", "101"], 0),
        (["status", "999"], 2),
        (["exec", "101", "--", "sh", "-c", "exit 7"], 7),
    ]
    lines = [json.loads(line) for line in (tmp_path / "pct.log").read_text().splitlines()]
    assert [(line["argv"][1], line["exit"]) for line in lines] == [("101", 0), ("999", 2), ("101", 7)]


def test_two_tasks_on_one_container_take_turns(tmp_path: Path) -> None:
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with Practice(tmp_path).task(101):
            order.append("second")

    with Practice(tmp_path).task(101):
        other = threading.Thread(target=second)
        other.start()
        assert waiting.wait(10)
        with Practice(tmp_path).task(103):
            order.append("first")
    other.join(10)
    assert order == ["first", "second"]
