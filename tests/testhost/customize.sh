#!/bin/sh
# Copyright: (c) 2026, blackwell.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Last touch to a new image; mmdebstrap passes its root. Machines behind a proxy of their own have its CA: pip in a host needs it too.
set -eu
for certificate in /usr/local/share/ca-certificates/*.crt; do
  [ -e "$certificate" ] && cp "$certificate" "$1/usr/local/share/ca-certificates/"
done
chroot "$1" update-ca-certificates >/dev/null
rm -f "$1"/etc/ssh/ssh_host_*_key*
chroot "$1" ssh-keygen -A >/dev/null
: >"$1/etc/machine-id"
rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap" "$1/etc/dpkg/dpkg.cfg.d/99mmdebstrap"
