#!/bin/sh
# enter.sh ROOT COMMAND...: run a command on what looks like a Proxmox VE host. Meant for a mount namespace of its own, with which all of it goes.
set -eu
root=$1
shift
mount -t overlay -o "lowerdir=$root/etc:/etc" etc /etc
mount --bind "$root/run" /run
mount --bind "$root/sys/bus/pci/devices" /sys/bus/pci/devices
mount --bind "$root/proc/driver" /proc/driver
mount -t tmpfs -o mode=755 dev /dev
mkdir -p /dev/shm /dev/vfio
while read -r name major minor; do
    mknod -m 666 "/dev/$name" c "$major" "$minor"
done <"$root/nodes"
exec "$@"
