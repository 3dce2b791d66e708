#!/bin/sh
# container.sh TREE FOLDER: starts the Debian in TREE, with FOLDER/root as its
# /root, as a container with systemd as its first process: namespaces and a cgroup
# of its own, the kernel's settings and /sys read-only but for the network's, no
# capability that reaches beyond. What its script prints is in FOLDER/console.
set -eu

tree=$1 out=$2 here=$(cd "$(dirname "$0")" && pwd)
if [ "${STAGE:-}" = "" ]; then
	group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/heddle-test-$$
	mkdir "$group" || exit 75
	echo "$group" >"$out/cgroup"
	echo $$ >"$group/cgroup.procs"
	STAGE=2 exec unshare -C -m -n -u -i -p -f --kill-child --propagation private "$0" "$@"
fi

mkdir "$out/layer"
mount -t tmpfs layer "$out/layer"
mkdir "$out/layer/up" "$out/layer/work" "$out/layer/root"
root=$out/layer/root
mount -t overlay over -o "lowerdir=$tree,upperdir=$out/layer/up,workdir=$out/layer/work" "$root"
"$here/furnish.sh" "$root" "$out/root" /root/console
touch "$out/console" "$root/root/console"
mount --bind "$out/console" "$root/root/console"

mount -t proc proc "$root/proc"
mkdir "$out/layer/net"
mount --bind "$root/proc/sys/net" "$out/layer/net"
for file in "$root/proc/sys" "$root/proc/sysrq-trigger"; do
	[ -e "$file" ] || continue
	mount --bind "$file" "$file"
	mount -o remount,bind,ro "$file"
done
mount --move "$out/layer/net" "$root/proc/sys/net"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for n in null zero full random urandom tty; do
	touch "$root/dev/$n"
	mount --bind "/dev/$n" "$root/dev/$n"
done
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs tmp "$root/tmp"
hostname machine
cd "$root"
mkdir old
pivot_root . old
umount -l old
rmdir old
exec env -i container=oci PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	setpriv --bounding-set=-sys_module,-sys_time,-sys_rawio,-syslog /sbin/init --log-target=null </dev/null
