#!/bin/sh
# uninstall.sh [DESTDIR] [PREFIX]: takes away exactly what install.sh put there.
# The configuration and the state stay. With PURGE=1 they go, too, unless an
# agent answers: what it made for containers would be without a record.
set -eu

DESTDIR=${1:-}
PREFIX=${2:-/usr/local}
share=$PREFIX/share
list=$share/heddle/files
unit=/lib/systemd/system/heddled.service
if [ "$PREFIX" = /usr/local ]; then unit=/etc/systemd/system/heddled.service; fi
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

# away FILE: removes it, and the folders above it that are empty then; on a
# living system only those that are heddle's own.
away() {
	rm -f "$DESTDIR$1"
	folder=${1%/*}
	while [ -n "$folder" ]; do
		case $DESTDIR:$folder in :*/heddle | :*/heddle/* | ?*:*) ;; *) break ;; esac
		rmdir "$DESTDIR$folder" 2>/dev/null || break
		folder=${folder%/*}
	done
}

systemd=
if [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]; then systemd=yes; fi
if [ -n "$systemd" ] && [ -e "$unit" ]; then systemctl disable heddled || true; fi
if [ -e "$DESTDIR$list" ]; then
	files=$(cat "$DESTDIR$list")
	for f in $files "$list"; do away "$f"; done
else
	echo "uninstall.sh: no $DESTDIR$list: nothing is installed there" >&2
fi
if [ "${PURGE:-}" = 1 ]; then
	away /etc/heddle/heddled.yaml
	rm -rf "$DESTDIR/var/lib/heddle"
	away /var/lib/heddle
fi
if [ -n "$systemd" ]; then systemctl daemon-reload; fi
