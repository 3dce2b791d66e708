#!/bin/sh
# furnish.sh ROOT FILES CONSOLE: makes the Debian in ROOT run /root/machine.sh at
# its start, with FILES as its /root and the script's output in CONSOLE.
set -eu

root=$1 files=$2 console=$3
cp -a "$files/." "$root/root"
chown -R 0:0 "$root/root"
chmod 0700 "$root/root"
rm -f "$root/etc/resolv.conf"
echo machine >"$root/etc/hostname"
echo '127.0.0.1 localhost machine' >"$root/etc/hosts"
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id" # or it were a first boot
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/test"
units=$root/etc/systemd/system
mkdir -p "$units/multi-user.target.wants"
cat >"$units/machine.service" <<EOF
[Unit]
After=multi-user.target
[Service]
Type=oneshot
TimeoutStartSec=infinity
Environment=HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive
WorkingDirectory=/root
ExecStart=/bin/sh /root/machine.sh
StandardOutput=file:$console
StandardError=file:$console
EOF
ln -s ../machine.service "$units/multi-user.target.wants/machine.service"
ln -sf /usr/lib/systemd/system/multi-user.target "$units/default.target"
for unit in serial-getty@ttyS0.service console-getty.service getty@tty1.service apt-daily.timer apt-daily-upgrade.timer; do
	ln -sf /dev/null "$units/$unit"
done
