"""Commands that can cut off the operator or Nomos, and what undoes them."""

from __future__ import annotations

import pytest

from nomos.domain.lockout import WARNING, Danger, Guard, look


def revert(command: str) -> str | None:
    """What undoes it; None where nothing has to or nothing is known."""
    danger = look(command)
    return None if danger is None or danger.guard is None else danger.guard.revert


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ip link set eth0 down", "ip link set dev eth0 up"),
        ("ip link set dev vmbr0 down", "ip link set dev vmbr0 up"),
        ("ip addr add 10.0.0.2/24 dev eth0", "ip address del 10.0.0.2/24 dev eth0"),
        ("ip a del 10.0.0.2/24 dev eth0", "ip address restore"),
        ("ip -4 route add default via 10.0.0.1", "ip route del default via 10.0.0.1"),
        ("ip route del default", "ip route restore"),
        ("ifdown eth0", "ifup eth0"),
        ("nmcli con down lan", "nmcli connection up lan"),
        ("nmcli device disconnect eth0", "nmcli device connect eth0"),
        ("nmcli networking off", "nmcli networking on"),
        ("ufw enable", "ufw disable"),
        ("ufw --force enable", "ufw disable"),
        ("ufw default deny incoming", "ufw reload"),
        ("ufw delete allow 22/tcp", "ufw reload"),
        ("iptables -A INPUT -j DROP", "iptables-restore"),
        ("sudo iptables -P INPUT DROP", "iptables-restore"),
        ("nft add rule inet filter input drop", "nft -f"),
        ("nft flush ruleset", "nft -f"),
        ("firewall-cmd --remove-service=ssh", "firewall-cmd --reload"),
        ("firewall-cmd --panic-on", "firewall-cmd --panic-off"),
        ("pve-firewall start", "pve-firewall stop"),
        ("systemctl stop ssh", "systemctl start ssh"),
        ("systemctl stop sshd.service", "systemctl start sshd"),
        ("systemctl disable --now ssh", "systemctl enable --now ssh"),
        ("systemctl mask ssh", "systemctl unmask ssh; systemctl start ssh"),
        ("systemctl restart ssh", "systemctl start ssh"),
        ("systemctl stop networking", "systemctl start networking"),
        ("service ssh stop", "systemctl start ssh"),
        ("/usr/bin/systemctl stop ssh", "systemctl start ssh"),
        ("pkill sshd", "systemctl start ssh"),
        ("passwd -l root", "/etc/$f"),
        ("usermod -s /usr/sbin/nologin nomos", "/etc/$f"),
        ("sed -i s/yes/no/ /etc/ssh/sshd_config", "systemctl reload ssh"),
        ("echo 'Port 2222' >> /etc/ssh/sshd_config.d/port.conf", "/etc/ssh/sshd_config.d/port.conf"),
        ("rm ~/.ssh/authorized_keys", "~/.ssh/authorized_keys"),
        ("cp /tmp/i /etc/network/interfaces && ifreload -a", "/etc/network/interfaces"),
        ("cp /tmp/h.fw /etc/pve/firewall/cluster.fw", "pve-firewall restart"),
        ("apt-get install -y ufw && ufw enable", "ufw disable"),
        ("true; ip link set eth0 down", "ip link set dev eth0 up"),
    ],
)
def test_what_undoes_it(command: str, words: str) -> None:
    assert words in (revert(command) or "")


@pytest.mark.parametrize(
    "command",
    [
        "netplan apply", "ifreload -a", "nmcli con modify lan ipv4.method auto", "ip link delete vmbr0",
        "systemctl restart networking", "firewall-cmd --reload", "userdel nomos", "ip rule add from all table 5",
    ],
)  # fmt: skip
def test_where_nothing_is_known_it_warns(command: str) -> None:
    assert look(command) == Danger(None, WARNING)


@pytest.mark.parametrize(
    "command",
    [
        "systemctl restart nginx", "pct stop 105", "ip link show", "ip a", "ip link set eth0 up", "ufw status",
        "ufw allow 22/tcp", "ufw disable", "iptables -L -n", "nft list ruleset", "firewall-cmd --list-all",
        "firewall-cmd --permanent --add-service=http", "nmcli con show", "touch /srv/sshd", "echo ufw enable",
        "pkill nginx", "apt-get install -y openssh-server", "systemctl status ssh", "",
    ],
)  # fmt: skip
def test_what_is_harmless_has_no_guard(command: str) -> None:
    assert look(command) is None


def test_several_steps_are_undone_last_first() -> None:
    danger = look("ip link set eth0 down && ufw enable")
    assert danger is not None
    assert danger.guard is not None
    assert danger.guard.revert.index("ufw disable") < danger.guard.revert.index("eth0 up")


def test_sudo_is_needed_to_undo_what_sudo_did() -> None:
    danger = look("sudo ufw enable")
    assert danger is not None
    assert danger.sudo
    assert danger.guard is not None
    assert "sudo -n env G=\"$G\" sh -c 'ufw disable'" in danger.guard.job(120, sudo=True)


def test_what_cannot_be_taken_apart_is_still_looked_at() -> None:
    assert look("systemctl stop ssh 'x") is not None


def test_the_job_says_when_it_stands_and_when_it_undid() -> None:
    text = Guard("revert-it", "prepare-it").job(7)
    armed = [line for line in text.splitlines() if line in {"echo armed", "echo reverting"} or "-it" in line]
    assert armed == ["{ prepare-it", "echo armed", "echo reverting", "{ revert-it"]
    assert "sleep 7 ||" in text
