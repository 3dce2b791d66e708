#!/bin/busybox sh
# init.sh: the first process of the machine: loads what the disk needs and hands
# over to the Debian on it. Where that fails it ends, and the kernel with it.
bb=/bin/busybox
$bb mount -t devtmpfs dev /dev
for f in $($bb cat /modules/list); do $bb insmod "/modules/$f"; done
tries=50
until $bb mount -t ext4 /dev/vda /disk; do
	tries=$((tries - 1))
	[ $tries -gt 0 ] || exit 1
	$bb sleep 0.2
done
$bb mount --move /dev /disk/dev
exec $bb switch_root /disk /sbin/init
