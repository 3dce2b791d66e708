#!/bin/sh
# install.sh [DESTDIR] [PREFIX]: installs the binaries in bin/ with unit, example
# configurations, completions and man pages. Every file is written aside and
# renamed, so that none is ever there by half; run again, it replaces what it
# put there. A configuration that is there stays.
#
#	PREFIX/bin                  heddle, heddled
#	PREFIX/lib/cni              heddle-cni, and a link to it in /opt/cni/bin:
#	                            runtimes look in one or the other
#	PREFIX/libexec/netavark     a link to it that is called heddle: Podman looks there
#	                            for the driver of that name
#	PREFIX/lib/heddle           purge
#	PREFIX/lib/systemd/network  keeps systemd-networkd and udev off our links
#	PREFIX/lib/udev/rules.d     keeps programs that udev starts off our links
#	/etc/heddle/heddled.yaml    only if there is none; for root alone: it may hold a
#	                            token
#	PREFIX/share                completions, man pages, heddle/cni, heddle/lxc,
#	                            heddle/networkd
#
# For PREFIX=/usr/local the unit is in /etc/systemd/system and the file that keeps
# NetworkManager off our links in /etc/NetworkManager/conf.d; else they are in
# PREFIX/lib/systemd/system and PREFIX/lib/NetworkManager/conf.d.
#
# Nothing is started or enabled. PREFIX/share/heddle/files lists the files, links
# and folders (these end in /) that were made; uninstall.sh takes away exactly
# those.
set -eu

DESTDIR=${1:-}
PREFIX=${2:-/usr/local}
here=$(cd "$(dirname "$0")" && pwd)
bin=${HEDDLE_BIN:-$here/../bin}
share=$PREFIX/share
list=$share/heddle/files
etc=$PREFIX/lib
if [ "$PREFIX" = /usr/local ]; then etc=/etc; fi

for f in heddle heddled heddle-cni; do
	[ -x "$bin/$f" ] || { echo "install.sh: $bin/$f is missing; run 'make build' first" >&2; exit 1; }
done
work=$(mktemp -d)
new=
trap 'rm -rf "$work" ${new:+"$new"}' EXIT
: >"$work/files"
: >"$work/folders"
if [ -e "$DESTDIR$list" ]; then grep '/$' "$DESTDIR$list" >"$work/folders" || true; fi

# folder DIR: makes DESTDIR/DIR and lists what was not there.
folder() {
	[ -n "$1" ] && [ ! -d "$DESTDIR$1" ] || return 0
	folder "${1%/*}"
	mkdir "$DESTDIR$1"
	chmod 0755 "$DESTDIR$1"
	echo "$1/" >>"$work/folders"
}

# write MODE FILE: standard input becomes DESTDIR/FILE.
write() {
	folder "${2%/*}"
	new=$DESTDIR$2.new.$$
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

# link TARGET FILE: a symbolic link, listed. One that others made stays.
link() {
	folder "${2%/*}"
	if [ -e "$DESTDIR$2" ] && [ ! -L "$DESTDIR$2" ] && ! grep -qsxF "$2" "$DESTDIR$list"; then
		echo "install.sh: $DESTDIR$2 is not ours and stays" >&2
		return
	fi
	new=$DESTDIR$2.new.$$
	ln -s "$1" "$new"
	mv -fT "$new" "$DESTDIR$2"
	new=
	echo "$2" >>"$work/files"
}

# made of this PREFIX
prefixed() { sed "s|/usr/bin/|$PREFIX/bin/|" "$1"; }

if [ -n "$DESTDIR" ]; then mkdir -p "$DESTDIR"; fi
for f in heddle heddled; do put 0755 "$PREFIX/bin/$f" <"$bin/$f"; done
put 0755 "$PREFIX/lib/cni/heddle-cni" <"$bin/heddle-cni"
link "$PREFIX/lib/cni/heddle-cni" /opt/cni/bin/heddle-cni
link ../../lib/cni/heddle-cni "$PREFIX/libexec/netavark/heddle"
put 0755 "$PREFIX/lib/heddle/purge" <"$here/purge.sh"
for f in heddled heddled-vpc@; do
	prefixed "$here/systemd/$f.service" >"$work/unit"
	put 0644 "$etc/systemd/system/$f.service" <"$work/unit"
done
for f in network link; do put 0644 "$PREFIX/lib/systemd/network/00-heddle.$f" <"$here/links/00-heddle.$f"; done
put 0644 "$PREFIX/lib/udev/rules.d/00-heddle.rules" <"$here/links/00-heddle.rules"
put 0644 "$etc/NetworkManager/conf.d/90-heddle.conf" <"$here/links/90-heddle.conf"
put 0644 "$share/heddle/networkd/heddle.conf" <"$here/links/networkd-foreign.conf"
for f in "$here"/cni/*.conflist "$here"/cni/examples/*.conflist; do
	put 0644 "$share/heddle/cni/${f#"$here"/cni/}" <"$f"
done

put 0755 "$share/heddle/lxc/heddle-lxc-hook" <"$here/lxc/heddle-lxc-hook"

for shell in bash zsh fish; do "$bin/heddle" completion $shell >"$work/$shell"; done
zsh=$share/zsh/site-functions
if [ "$PREFIX" = /usr ]; then zsh=$share/zsh/vendor-completions; fi # Debian's zsh looks there
put 0644 "$share/bash-completion/completions/heddle" <"$work/bash"
put 0644 "$zsh/_heddle" <"$work/zsh"
put 0644 "$share/fish/vendor_completions.d/heddle.fish" <"$work/fish"

"$bin/heddle" docs man "$work/man"
cp "$here/man/heddled.8" "$work/man"
gzip -9n "$work"/man/*
for f in "$work"/man/*.gz; do
	section=${f%.gz}
	put 0644 "$share/man/man${section##*.}/${f##*/}" <"$f"
done

[ -e "$DESTDIR/etc/heddle/heddled.yaml" ] || write 0600 /etc/heddle/heddled.yaml <"$here/heddled.yaml"
# it may hold a token, and an older version installed it for all to read
if grep -qs '^token:' "$DESTDIR/etc/heddle/heddled.yaml"; then chmod go-rwx "$DESTDIR/etc/heddle/heddled.yaml"; fi

# what an older version had and this one has not
if [ -e "$DESTDIR$list" ]; then
	grep -v '/$' "$DESTDIR$list" | grep -vxF -f "$work/files" | while read -r f; do rm -f "$DESTDIR$f"; done
fi
folder "$share/heddle"
sort -u "$work/folders" | cat "$work/files" - >"$work/list"
write 0644 "$list" <"$work/list"

if [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
echo "installed in $DESTDIR$PREFIX; 'systemctl enable --now heddled' starts the agent"
