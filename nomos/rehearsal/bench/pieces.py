"""Measures parts of Nomos in this process: no web, no worker."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping

from nomos.agent.prompt import build
from nomos.rehearsal.bench.rounds import counted
from nomos.rehearsal.bench.stage import Stage
from nomos.risk import classify
from nomos.ssh.base import Limits
from nomos.ssh.keys import KEY_NAME
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.store import messages

_REPEATS = 20  # of one command's classification, which is too short for one look at the clock

COMMANDS = """
pct list
pct status 105
pct config 105
pct create 105 local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst --hostname web --memory 512 --rootfs local-lvm:4
pct start 105
pct stop 105
pct destroy 105
pct destroy 105 --purge 1 --force 1
pct exec 105 -- systemctl status nginx
pct exec 105 -- apt-get install -y nginx
pct snapshot 105 before-upgrade
pct rollback 105 before-upgrade
pct push 105 /root/nginx.conf /etc/nginx/nginx.conf
qm list
qm config 200
qm start 200
pvesm status
pveam list local
pveam download local debian-13-standard_13.1-2_amd64.tar.zst
pveversion
uptime
uname -a
hostname
df -h
free -m
lsblk -f
ip -br addr
ss -tlnp
cat /etc/os-release
cat /etc/passwd | grep root
cat /proc/loadavg
ls -la /var/lib/vz
systemctl status pveproxy
systemctl restart pveproxy
systemctl --failed
journalctl -u ssh -n 50 --no-pager
apt-get update && apt-get -y dist-upgrade
apt list --upgradable 2>/dev/null | wc -l
docker ps -a
docker compose -f /srv/app/compose.yml up -d
docker system prune -af
rm -rf /var/lib/vz/dump/old
find /var/log -name '*.gz' -mtime +30 -delete
dd if=/dev/zero of=/dev/sda bs=1M
mkfs.ext4 /dev/sdb1
zpool status
zfs destroy rpool/data/subvol-105-disk-0
sh -c 'echo $(hostname) > /etc/motd'
curl -fsSL https://example.org/install.sh | bash
echo "unclosed
""".strip().splitlines()

Values = Mapping[str, list[float]]


def job_starts(stage: Stage, rounds: int) -> Values:
    """``job_start``: jobs on the practice host over one connection, from the call to the host's word that it runs."""
    shell = ParamikoShell(stage.home / "ssh" / KEY_NAME)
    target = stage.host.target()
    values: list[float] = []
    try:
        shell.probe(target)
        for _ in counted(rounds):
            job_id, began = str(uuid.uuid4()), time.monotonic()
            shell.start(target, job_id, "true", Limits(timeout=60))
            values.append((time.monotonic() - began) * 1000)
            shell.follow(target, job_id, 0, lambda _: None, lambda: False)
    finally:
        shell.close()
    return {"job_start": values}


def classifications(_stage: Stage, rounds: int) -> Values:
    """``classify``: every command of a list, the mean of some repetitions each."""
    values = []
    for _ in counted(rounds):
        for command in COMMANDS:
            began = time.perf_counter()
            for _ in range(_REPEATS):
                classify(command)
            values.append((time.perf_counter() - began) / _REPEATS * 1000)
    return {"classify": values}


def histories(stage: Stage, rounds: int) -> Values:
    """``history``: rows are read and the request is built, as before each question to the model."""
    values = []
    for _ in counted(rounds):
        began = time.monotonic()
        with stage.store.read() as connection:
            past = messages.page(connection, stage.long_session)
            answers = messages.all_answers(connection, stage.long_session)
        # The last turn has ended; a question is asked where the operator has the last word.
        build(past[:-1], answers[:-2])
        values.append((time.monotonic() - began) * 1000)
    return {"history": values}
