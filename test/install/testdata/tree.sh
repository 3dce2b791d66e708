#!/bin/sh
# tree.sh bare|systemd|managers: makes a Debian 12 in the cache and prints its folder.
# bare is debootstrap's smallest form; systemd adds an init, udev, dbus, ip and ping,
# and holds what heddle's package depends on in apt's cache, for a machine without
# a network; managers is systemd with NetworkManager, cloud-init, ifupdown and
# nftables installed. One that is there is taken as it is: remove the folder for a new one.
# Nothing of the machine changes; the mirror is its own (test/vm/fetch.sh mirror).
set -eu

repo=$(cd "$(dirname "$0")/../../.." && pwd)
cache=${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}/debian
form=1 # of the trees; raise it when this script makes others

die() { echo "tree.sh: $*" >&2; exit 1; }

# within TREE COMMAND…: runs it in the tree, with a proc and a dev of its own.
within() {
	unshare -m -p -f --mount-proc --propagation private sh -euc '
		tree=$1; shift
		mount -t proc proc "$tree/proc"
		mount -t tmpfs dev "$tree/dev"
		for n in null zero random urandom; do touch "$tree/dev/$n"; mount --bind "/dev/$n" "$tree/dev/$n"; done
		[ ! -e /etc/resolv.conf ] || cat /etc/resolv.conf >"$tree/etc/resolv.conf"
		exec chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"
	' sh "$@"
}

bare() {
	mirror=${HEDDLE_DEBIAN_MIRROR:-$("$repo/test/vm/fetch.sh" mirror)}
	[ -n "$mirror" ] || die "no Debian mirror in the sources below /etc/apt: set HEDDLE_DEBIAN_MIRROR"
	debootstrap --variant=minbase bookworm "$1" "$mirror"
	rm -f "$1"/var/cache/apt/archives/*.deb
}

systemd() {
	cp -a --reflink=auto "$(make bare)/." "$1"
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod +x "$1/usr/sbin/policy-rc.d"
	within "$1" apt-get update
	within "$1" apt-get install -y --no-install-recommends systemd-sysv udev dbus kmod iproute2 iputils-ping
	within "$1" apt-get clean
	within "$1" apt-get install -y --download-only nftables
	rm "$1/usr/sbin/policy-rc.d"
}

managers() {
	cp -a --reflink=auto "$(make systemd)/." "$1"
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod +x "$1/usr/sbin/policy-rc.d"
	within "$1" apt-get update
	within "$1" apt-get install -y --no-install-recommends network-manager cloud-init ifupdown nftables
	within "$1" apt-get clean
	rm "$1/usr/sbin/policy-rc.d"
}

# make FORM: the cached folder, made if it is missing, whole or not at all.
make() {
	tree=$cache/$1-$form
	if [ ! -d "$tree" ]; then
		[ "$(id -u)" = 0 ] || die "making a Debian needs root"
		mkdir -p "$cache"
		new=$(mktemp -d "$cache/.$1.XXXXXX")
		chmod 0755 "$new"
		# a process of its own, which ends at the first command that fails
		"$0" "$1" "$new" >"$new.log" 2>&1 || { tail -n 20 "$new.log" >&2; rm -rf --one-file-system "$new" "$new.log"; die "cannot make a Debian ($1)"; }
		rm -f "$new.log"
		mv -T "$new" "$cache/$1-$form"
	fi
	echo "$cache/$1-$form"
}

case ${1:-} in
bare | systemd | managers) if [ -n "${2:-}" ]; then "$1" "$2"; else make "$1"; fi ;;
*) die "give bare, systemd or managers" ;;
esac
