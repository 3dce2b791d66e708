#!/bin/sh
# plugin.sh [FOLDER]: makes the folder of a managed plugin (default:
# bin/docker-plugin): config.json, and a root file system with heddled and what it
# calls, which is this machine's own (nft, iptables-legacy, sh, mount). Nothing is fetched. A
# dockerd takes it in by
#
#	docker plugin create heddle bin/docker-plugin
#	docker plugin enable heddle
#
# and knows it as heddle:latest: docker network create -d heddle:latest
# --ipam-driver heddle:latest … There is either the plugin or the service on a host.
#
# The agent in it is the host's: it has the host's network and processes, the
# command line finds its socket in /run/heddle, and its state is in /var/lib/heddle.
# It sees the host's /run below /host, and there containers' namespaces, which
# dockerd names by paths of the host. A NIC that a container has (mode direct) comes
# back from it as long as the plugin runs.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
out=${1:-$tree/bin/docker-plugin}
bin=${HEDDLE_BIN:-$tree/bin}

[ -x "$bin/heddled" ] || { echo "plugin.sh: $bin/heddled is missing; run 'make build' first" >&2; exit 1; }
new=$out.new.$$
trap 'rm -rf "$new"' EXIT
root=$new/rootfs
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/etc" "$root/var" "$root/host/var/lib" "$root/host/run" "$root/run/docker/plugins" "$root/proc" "$root/sys" "$root/tmp"
install -m 0755 "$bin/heddled" "$bin/heddle" "$root/usr/bin/"
for f in bin sbin lib lib64; do ln -s usr/$f "$root/$f"; done
install -m 0755 "$here/start.sh" "$root/usr/bin/start"

# take PROGRAM: a program of this machine, with its libraries.
take() {
	path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$1") || { echo "plugin.sh: $1 is not installed" >&2; exit 1; }
	for f in "$path" $(ldd "$(readlink -f "$path")" | grep -o '/[^ ]*'); do
		mkdir -p "$root${f%/*}"
		cp -L "$f" "$root$f"
	done
}
for f in sh mount nft; do take $f; done
# For hosts with tables of iptables-legacy; each match is a file of its own.
for f in iptables-legacy ip6tables-legacy; do take $f; done
extensions=$(dirname "$(find /usr/lib -name libxt_standard.so | head -n 1)")
mkdir -p "$root$extensions"
cp -L "$extensions"/libxt_standard.so "$extensions"/libxt_comment.so "$root$extensions/"

ln -s /host/run/docker/netns "$root/run/docker/netns"
ln -s /run "$root/var/run"
install -m 0644 "$here/config.json" "$new/config.json"
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$new" "$out"
trap - EXIT
echo "$out"
