#!/bin/sh
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs one host until its power goes off. Started in a mount and a network namespace of its own, which go when it goes;
# every variable is set by host.py, which has put this process into $CGROUP/launcher.
set -eu
for controller in $(cat "$CGROUP/cgroup.controllers"); do
  echo "+$controller" >"$CGROUP/cgroup.subtree_control"
done

# Where nspawn keeps its locks and doors: its own, so that none outlives a kill and names of two checkouts do not meet.
mkdir -p /run/systemd/nspawn
mount -t tmpfs -o mode=0755 tmpfs /run/systemd/nspawn

mount -t overlay overlay -o "lowerdir=$IMAGE,upperdir=$HOST/upper,workdir=$HOST/work" "$HOST/root"
ip link set lo up
ip link add eth0 address "$HARDWARE_ADDRESS" type veth peer name "$LINK" netns "$MACHINE_PID"
ip address add "$ADDRESS/24" dev eth0
nsenter --target "$MACHINE_PID" --net ip link set "$LINK" master "$BRIDGE" up
ip link set eth0 up
ip route add default via "$GATEWAY"

# Two hosts in one cgroup would share their payload: hence machine/, entered by a shell that becomes nspawn.
# API_VFS_WRITABLE=network: /proc/sys/net is the host's own, all other sysctls are the machine's and stay read-only.
export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 SYSTEMD_NSPAWN_API_VFS_WRITABLE=network
code=133
while [ "$code" = 133 ]; do # with --keep-unit that code says: the host asked for a reboot
  code=0
  sh -c 'echo $$ >"$CGROUP/machine/cgroup.procs"; exec systemd-nspawn "$@"' sh \
    --quiet --directory="$HOST/root" --machine="$NAME" --hostname="$NAME" --boot --register=no --keep-unit \
    --network-namespace-path=/proc/self/ns/net --capability=CAP_NET_ADMIN \
    --resolv-conf=off --timezone=off --link-journal=no --console=pipe "$@" || code=$?
done
exit "$code"
