#!/bin/sh
# deps.sh PACKAGE…: install the Debian packages that are missing. Nothing is
# started: a policy-rc.d forbids the services for the length of the call. Servers for
# SSH, mail, names and HTTP/3 do not start with the next boot either.
set -eu
missing=""
for p in "$@"; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
	echo "not root: these packages stay missing, and what needs them is left out:$missing" >&2
	exit 0
fi
echo "installing:$missing" >&2
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
	trap 'rm -f $policy' EXIT
	trap 'exit 130' INT TERM HUP # run the trap above also then
fi
log=$(mktemp)
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
rm -f "$log"
# Debian has what is installed start with the next boot. Nobody who tests asked to be logged in to, to be sent mail, or to be asked
# for names or pages.
command -v systemctl >/dev/null || exit 0
keep_off() { # WHAT PACKAGE UNIT...: the units do not start with the next boot, if the package was missing
	what=$1 package=$2
	shift 2
	case " $missing " in *" $package "*) ;; *) return 0 ;; esac
	systemctl --quiet disable "$@" || echo "$what may start with the next boot: 'systemctl disable $1' forbids it" >&2
}
keep_off "an SSH server" openssh-server ssh.service ssh.socket
keep_off "a mail server" dovecot-imapd dovecot.service dovecot.socket
keep_off "a name server" unbound unbound.service
keep_off "a web server" caddy caddy.service
