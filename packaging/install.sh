#!/bin/sh
# install.sh [DESTDIR] [PREFIX]: installs the binaries in bin/ with unit, example
# configurations, completions and man pages. Every file is written aside and
# renamed, so that none is ever there by half; run again, it replaces what it
# put there. A configuration that is there stays.
#
#	PREFIX/bin                  heddle, heddled
#	/opt/cni/bin                heddle-cni
#	/etc/heddle/heddled.yaml    only if there is none
#	PREFIX/share                completions, man pages, heddle/cni, heddle/lxc
#	the unit                    in /etc/systemd/system for PREFIX=/usr/local,
#	                            else in /lib/systemd/system
#
# Nothing is started or enabled. PREFIX/share/heddle/files lists what was put
# there; uninstall.sh takes away exactly that.
set -eu

DESTDIR=${1:-}
PREFIX=${2:-/usr/local}
here=$(cd "$(dirname "$0")" && pwd)
bin=${HEDDLE_BIN:-$here/../bin}
share=$PREFIX/share
list=$share/heddle/files
unit=/lib/systemd/system/heddled.service
if [ "$PREFIX" = /usr/local ]; then unit=/etc/systemd/system/heddled.service; fi

for f in heddle heddled heddle-cni; do
	[ -x "$bin/$f" ] || { echo "install.sh: $bin/$f is missing; run 'make build' first" >&2; exit 1; }
done
work=$(mktemp -d)
new=
trap 'rm -rf "$work" ${new:+"$new"}' EXIT

# write MODE FILE: standard input becomes DESTDIR/FILE.
write() {
	new=$DESTDIR$2.new.$$
	mkdir -p "${new%/*}"
	cat >"$new"
	chmod "$1" "$new"
	mv -f "$new" "$DESTDIR$2"
	new=
}

# put MODE FILE: the same, and listed.
put() {
	write "$1" "$2"
	echo "$2" >>"$work/files"
}

for f in heddle heddled; do put 0755 "$PREFIX/bin/$f" <"$bin/$f"; done
put 0755 /opt/cni/bin/heddle-cni <"$bin/heddle-cni"
sed "s|^ExecStart=/usr/bin/|ExecStart=$PREFIX/bin/|" "$here/systemd/heddled.service" >"$work/unit"
put 0644 "$unit" <"$work/unit"
for f in "$here"/cni/*.conflist "$here"/cni/examples/*.conflist; do
	put 0644 "$share/heddle/cni/${f#"$here"/cni/}" <"$f"
done

put 0755 "$share/heddle/lxc/heddle-lxc-hook" <"$here/lxc/heddle-lxc-hook"

for shell in bash zsh fish; do "$bin/heddle" completion $shell >"$work/$shell"; done
put 0644 "$share/bash-completion/completions/heddle" <"$work/bash"
put 0644 "$share/zsh/site-functions/_heddle" <"$work/zsh"
put 0644 "$share/fish/vendor_completions.d/heddle.fish" <"$work/fish"

"$bin/heddle" docs man "$work/man"
for f in "$work"/man/*.1; do put 0644 "$share/man/man1/${f##*/}" <"$f"; done
put 0644 "$share/man/man8/heddled.8" <"$here/man/heddled.8"

[ -e "$DESTDIR/etc/heddle/heddled.yaml" ] || write 0644 /etc/heddle/heddled.yaml <"$here/heddled.yaml"

# what an older version had and this one has not
if [ -e "$DESTDIR$list" ]; then
	grep -vxF -f "$work/files" "$DESTDIR$list" | while read -r f; do rm -f "$DESTDIR$f"; done
fi
write 0644 "$list" <"$work/files"

if [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
echo "installed in $DESTDIR$PREFIX; 'systemctl enable --now heddled' starts the agent"
