#!/bin/sh
# purge: takes away all that heddle made on this host, running containers'
# networks too, and its state. It asks the agent that answers or, for that long,
# starts one from the folder this script lies in, or from bin/ beside lib/.
# Settings of the host that others may rely on by now (forwarding) stay until the
# next boot.
set -u

here=$(cd "$(dirname "$0")" && pwd)
bin=$here
[ -x "$bin/heddled" ] || bin=$(cd "$here/../../bin" && pwd)
config=$here/heddled.yaml
[ -r "$config" ] || config=/etc/heddle/heddled.yaml
[ -r "$config" ] || config=/dev/null
pid=

say() { echo "heddle purge: $*" >&2; }

# setting KEY DEFAULT: a folder that the configuration names.
setting() {
	value=$(sed -n "s/^$1:[[:space:]]*//p" "$config" | sed 's/[[:space:]]*\(#.*\)\{0,1\}$//; s/^["'\'']\(.*\)["'\'']$/\1/' | tail -n 1)
	echo "${value:-$2}"
}

ask() { timeout 120 "$bin/heddle" --socket "$run/heddle.sock" "$@"; }
answers() { ask status >/dev/null 2>&1; }

# agent STATE RUN: an agent that answers in these folders.
agent() {
	run=$2
	answers && return
	"$bin/heddled" --config /dev/null --store none --docker-socket none --resolver none --state-dir "$1" --run-dir "$run" --log-level error &
	pid=$!
	tries=300 # of a fifth of a second
	until answers; do
		tries=$((tries - 1))
		if [ $tries = 0 ] || ! kill -0 $pid 2>/dev/null; then
			stop
			return 1
		fi
		sleep 0.2
	done
}

stop() {
	[ -n "$pid" ] || return 0
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	pid=
}
trap stop EXIT

# names NOUN: the ids of a list.
names() { ask "$1" list -q </dev/null; }

# all: every endpoint, every network, every leftover.
all() {
	failed=0
	for id in $(names endpoint); do ask detach "$id" >/dev/null || failed=1; done
	for name in $(names network); do ask network delete "$name" >/dev/null || failed=1; done
	ask gc >/dev/null 2>&1 || failed=1
	return $failed
}

# leftovers: without the record, what bears our mark goes all the same. An agent
# with empty folders takes all of it for leftovers.
leftovers() {
	stop
	say "not everything could be removed by its record; removing what bears heddle's mark"
	scratch=$(mktemp -d)
	if ! agent "$scratch/state" "$scratch/run" || ! all; then
		say "something of heddle's stays in the kernel until the next boot ('ip -d link', 'nft list tables')"
	fi
	stop
	rm -rf "$scratch"
}

state=$(setting stateDir /var/lib/heddle)
folder=$(setting runDir /run/heddle)

# Where no agent ever ran there is nothing to remove, and what bears the mark in
# this network namespace is another's: think of a chroot on a host with heddle.
if [ -e "$state/heddle.db" ] || [ -e "$folder/ledger.db" ]; then
	if ! agent "$state" "$folder" || ! all; then leftovers; fi
	stop
fi

# The resolver of the run folder outlives its agents.
folder=${folder%/}
resolver=$(cut -d ' ' -f 1 "$folder/names/lock" 2>/dev/null)
if [ -n "$resolver" ] && [ "$(tr '\0' ' ' <"/proc/$resolver/cmdline" 2>/dev/null)" = "heddled resolve --dir $folder/names " ]; then
	kill "$resolver"
	tries=50 # of a fifth of a second
	while [ -e "/proc/$resolver" ] && [ $tries -gt 0 ]; do
		tries=$((tries - 1))
		sleep 0.2
	done
fi

for dir in "$folder" "$state"; do
	case $dir in
	*/heddle)
		# VPCs, with all that is in their namespaces
		for name in $(ls "$dir/vpc" 2>/dev/null); do
			if [ -e "/run/netns/heddle-vpc-$name" ]; then
				umount -l "/run/netns/heddle-vpc-$name" 2>/dev/null
				rm -f "/run/netns/heddle-vpc-$name"
			fi
		done
		# namespaces held below the run folder
		sed -n "s|^[^ ]* \($dir/[^ ]*\) nsfs .*|\1|p" /proc/self/mounts 2>/dev/null | while read -r mount; do umount -l "$mount"; done
		# a mount point is emptied, and stays
		if ! rm -rf "$dir" 2>/dev/null; then
			left=$(find "$dir" ! -type d 2>/dev/null)
			if [ -n "$left" ]; then say "not deleted:" $left; fi
		fi
		;;
	*) # a folder of another name may hold other things
		if cd "$dir" 2>/dev/null; then rm -f heddle.db ledger.db heddle.sock cni-queue/* names/*; fi
		cd /
		rmdir "$dir/cni-queue" "$dir/names" "$dir" 2>/dev/null
		;;
	esac
done
exit 0
