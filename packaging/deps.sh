#!/bin/sh
# deps.sh PACKAGE…: install the Debian packages that are missing. Nothing is
# started: a policy-rc.d forbids the services for the length of the call. Servers for
# SSH, mail and names do not start with the next boot either.
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
# Debian has what is installed start with the next boot. Nobody who tests asked to be logged in to, to be sent mail, or to be asked for names.
case " $missing " in *" openssh-server "*)
	! command -v systemctl >/dev/null || systemctl --quiet disable ssh.service ssh.socket ||
		echo "an SSH server may start with the next boot: 'systemctl disable ssh' forbids it" >&2
esac
case " $missing " in *" dovecot-"*)
	! command -v systemctl >/dev/null || systemctl --quiet disable dovecot.service dovecot.socket ||
		echo "a mail server may start with the next boot: 'systemctl disable dovecot' forbids it" >&2
esac
case " $missing " in *" unbound "*)
	! command -v systemctl >/dev/null || systemctl --quiet disable unbound.service ||
		echo "a name server may start with the next boot: 'systemctl disable unbound' forbids it" >&2
esac
