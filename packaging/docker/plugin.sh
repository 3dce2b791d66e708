#!/bin/sh
# plugin.sh [FOLDER]: makes the folder of a managed plugin (default:
# bin/docker-plugin): config.json, and a root file system with heddled alone.
# Nothing is fetched. A dockerd takes it in by
#
#	docker plugin create heddle bin/docker-plugin
#	docker plugin enable heddle
#
# The agent in it is the host's: it has the host's network and processes, the
# command line finds its socket in /run/heddle, and its state is in /var/lib/heddle.
# It sees the host's /run below /host, and there containers' namespaces, which
# dockerd names by paths of the host. A NIC that a container has (mode direct) comes
# back from it as long as the plugin runs.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../bin/docker-plugin}
bin=${HEDDLE_BIN:-$here/../../bin}

[ -x "$bin/heddled" ] || { echo "plugin.sh: $bin/heddled is missing; run 'make build' first" >&2; exit 1; }
new=$out.new.$$
trap 'rm -rf "$new"' EXIT
root=$new/rootfs
mkdir -p "$root/usr/bin" "$root/etc" "$root/var" "$root/host/var/lib" "$root/host/run" "$root/run/docker/plugins" "$root/proc" "$root/sys" "$root/tmp"
install -m 0755 "$bin/heddled" "$bin/heddle" "$root/usr/bin/"
ln -s /host/run/docker/netns "$root/run/docker/netns"
ln -s /run "$root/var/run"
install -m 0644 "$here/config.json" "$new/config.json"
rm -rf "$out"
mkdir -p "$(dirname "$out")"
mv "$new" "$out"
trap - EXIT
echo "$out"
