#!/bin/sh
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Last touch to the root of the virtual machine, after customize.sh: an emulated machine boots in 30 s instead of 70 with few modules in
# its initrd and without udev, consoles and timers.
set -eu
printf '%s\n' virtio_pci virtio_blk virtio_net ext4 >"$1/etc/initramfs-tools/modules"
sed -i 's/^MODULES=.*/MODULES=list/' "$1/etc/initramfs-tools/initramfs.conf"
mountpoint -q "$1/proc" || mount -t proc proc "$1/proc"
chroot "$1" update-initramfs -u -k all

cat >"$1/etc/systemd/system/fixed-network.service" <<'UNIT'
[Unit]
DefaultDependencies=no
After=local-fs.target
Before=network.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'ip link set lo up; ip address add 10.0.2.15/24 dev eth0; ip link set eth0 up; ip route add default via 10.0.2.2'

[Install]
WantedBy=multi-user.target
UNIT
chroot "$1" systemctl enable fixed-network.service
chroot "$1" systemctl mask systemd-udevd.service systemd-udevd-kernel.socket systemd-udevd-control.socket systemd-udev-trigger.service \
  systemd-udev-settle.service getty@tty1.service serial-getty@ttyS0.service modprobe@drm.service modprobe@efi_pstore.service \
  modprobe@fuse.service modprobe@configfs.service dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
: >"$1/etc/fstab"
echo vm >"$1/etc/hostname"
echo nameserver 10.0.2.3 >"$1/etc/resolv.conf"
install -d -m 0700 "$1/root/.ssh"
printf '%s' "$AUTHORIZED_KEY" >"$1/root/.ssh/authorized_keys"
