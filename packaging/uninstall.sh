#!/bin/sh
# uninstall.sh [DESTDIR] [PREFIX]: takes away exactly what install.sh put there:
# files, links, and the folders it made, if they are empty. The configuration and
# the state stay. With PURGE=1 they go, too, and before them all that heddle made
# for containers on this host; while an agent answers, that is refused.
set -eu

DESTDIR=${1:-}
PREFIX=${2:-/usr/local}
list=$PREFIX/share/heddle/files
socket=$DESTDIR/run/heddle/heddle.sock

# answers says whether an agent lives behind the socket: only a missing one
# makes heddle's exit code 3.
answers() {
	[ -x "$DESTDIR$PREFIX/bin/heddle" ] || return 1
	code=0
	timeout 10 "$DESTDIR$PREFIX/bin/heddle" --socket "$socket" status >/dev/null 2>&1 || code=$?
	[ $code != 3 ]
}

if [ "${PURGE:-}" = 1 ] && answers; then
	echo "uninstall.sh: an agent answers on $socket; stop it first ('systemctl disable --now heddled'); nothing was removed" >&2
	exit 5
fi

systemd=
if [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]; then systemd=yes; fi
if [ -n "$systemd" ] && [ -e "$list" ]; then
	systemctl disable --quiet heddled || true
	systemctl stop 'heddled-vpc@*.service' || true
	systemctl disable --quiet heddled-vpc@.service || true # all of them
fi
if [ "${PURGE:-}" = 1 ]; then
	if [ -z "$DESTDIR" ] && [ -x "$PREFIX/lib/heddle/purge" ]; then "$PREFIX/lib/heddle/purge"; fi
	rm -f "$DESTDIR/etc/heddle/heddled.yaml"
	rmdir "$DESTDIR/etc/heddle" 2>/dev/null || true
	rm -rf "$DESTDIR/var/lib/heddle"
fi
# dockerd must not wait for a driver that is gone
if ! answers; then
	rm -f "$DESTDIR/run/docker/plugins/heddle.sock"
	rmdir "$DESTDIR/run/docker/plugins" "$DESTDIR/run/docker" 2>/dev/null || :
fi
if [ -e "$DESTDIR$list" ]; then
	lines=$(cat "$DESTDIR$list")
	rm -f "$DESTDIR$list"
	for f in $lines; do
		case $f in */) ;; *) rm -f "$DESTDIR$f" ;; esac
	done
	# the deepest first
	for f in $(echo "$lines" | sort -r); do
		case $f in */) rmdir "$DESTDIR${f%/}" 2>/dev/null || true ;; esac
	done
else
	echo "uninstall.sh: no $DESTDIR$list: nothing is installed there" >&2
fi
if [ -n "$systemd" ]; then systemctl daemon-reload; fi
