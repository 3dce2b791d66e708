#!/bin/sh
# bare.sh TREE DEB FOLDER: installs the package on a bare Debian, in namespaces of
# its own, up to the first ping of a container, and purges it. The commands are
# the guide's blocks, in FOLDER; there it leaves the seconds, the load, and what there is of
# files and kernel objects before and after. Run by "unshare -m -p -f".
set -eu

tree=$1 deb=$2 out=$3
mount --make-rprivate /
mount -t tmpfs layer "$out/layer"
mkdir "$out/layer/up" "$out/layer/work" "$out/layer/root"
root=$out/layer/root
mount -t overlay over -o "lowerdir=$tree,upperdir=$out/layer/up,workdir=$out/layer/work" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs dev "$root/dev"
for n in null zero random urandom; do touch "$root/dev/$n"; mount --bind "/dev/$n" "$root/dev/$n"; done
[ ! -e /etc/resolv.conf ] || cat /etc/resolv.conf >"$root/etc/resolv.conf"
printf 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "true";\n' >"$root/etc/apt/apt.conf.d/test"

# apt needs the machine's network, heddle one of its own
unshare -n sleep 1000 &
holder=$!
within() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
alone() { nsenter --net="/proc/$holder/ns/net" -- chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }
tries=600
while [ "$(readlink /proc/$holder/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
	tries=$((tries - 1))
	[ $tries -gt 0 ]
	sleep 0.1
done
nsenter --net="/proc/$holder/ns/net" -- ip link set lo up
nsenter --net="/proc/$holder/ns/net" -- mount -t sysfs sysfs "$root/sys"

# files lists all of the tree, each with its mode, owner and contents.
files() {
	(cd "$root" && find . \( -path ./proc -o -path ./sys -o -path ./dev \) -prune -o \( -type f -exec sha256sum {} + \) -o \( ! -type f -printf '%y %m %u:%g %p %l\n' \)) | sort
}
# kernel lists what the namespace has.
kernel() {
	nsenter --net="/proc/$holder/ns/net" -- sh -c 'ip -o link; ip -o address; ip route show table all; ip -6 route show table all; ip rule; ip -6 rule; nft list ruleset' |
		sed -e 's/ expires [^ ]*//'
}

within apt-get update >"$out/apt" 2>&1 || { echo "no mirror"; exit 75; }
files >"$out/files.before"
kernel >"$out/kernel.before"

cp "$deb" "$root/root/"
start=$(date +%s.%N)
within sh -exc "cd /root; $(cat "$out/deb.sh")" >>"$out/apt" 2>&1 || { cat "$out/apt"; exit 1; }
# what pings is no part of heddle; a bare Debian has none
installed=$(date +%s.%N)
within apt-get install --no-install-recommends iputils-ping >>"$out/apt" 2>&1
ready=$(date +%s.%N)
alone sh -exc "$(cat "$out/by-hand.sh")" >"$out/heddled" 2>&1
alone sh -exc "$(cat "$out/first.sh")" || { cat "$out/heddled"; exit 1; }
end=$(date +%s.%N)
echo "$start $installed $ready $end" | awk '{ print $2 - $1 + $4 - $3 }' >"$out/seconds"
cat /proc/loadavg >"$out/load"
alone heddle audit
alone heddle endpoint list
[ "$(within stat -c '%G %a' /run/heddle/heddle.sock)" = "heddle 660" ]

# the container's namespace lives on: its link has to go by the purge
kernel >"$out/kernel.between"
alone sh -exc "$(cat "$out/purge.sh")" >>"$out/apt" 2>&1 || { cat "$out/apt"; exit 1; }
alone ip netns exec web ip -o link >"$out/container"
alone ip netns del web
within apt-get purge iputils-ping >>"$out/apt" 2>&1
within apt-get autoremove --purge >>"$out/apt" 2>&1
rm "$root"/root/*.deb
kernel >"$out/kernel.after"
files >"$out/files.after"
kill $holder
