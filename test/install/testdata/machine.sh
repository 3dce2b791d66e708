#!/bin/sh
# machine.sh: what is done in the machine, as root, under systemd. Each check is
# a line "OK …" on the console; the first that fails ends the machine.
set -u

fail() {
	echo "FAILED $1"
	echo "--- $(cat /tmp/out 2>/dev/null)"
	journalctl --no-pager -n 40 -u heddled -u systemd-networkd
	poweroff -f
	exit 1
}
# check WHAT COMMAND…: the command succeeds.
check() {
	what=$1
	shift
	if "$@" >/tmp/out 2>&1; then echo "OK $what ($(cut -d. -f1 /proc/uptime) s)"; else fail "$what: $*"; fi
}
is() { [ "$1" = "$2" ] || { echo "have: $1"; echo "want: $2"; return 1; }; }
no() { ! "$@"; }
# soon COMMAND…: within two minutes.
soon() {
	tries=240
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.5
	done
}
# guide BLOCK [FOLDER]: the guide's commands.
guide() { (cd "${2:-/root}" && sh -exc "$(cat "/root/guide/$1")" </dev/null); }
property() { systemctl show -P "$1" heddled; }
in_kernel() { ip -o link | sed 's/^[0-9]*: //' | cut -d: -f1; ip -o address | sed 's/^[0-9]*: //'; ip route show table all; ip -6 route show table all | sed 's/ expires [^ ]*//'; ip rule; ip -6 rule; nft list ruleset 2>/dev/null; }
in_files() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \) -prune -o -printf '%y %m %u:%g %p %l\n' | grep -v -e ' /etc/\(group\|gshadow\|passwd\|shadow\)- ' | sort; find /run -path '*heddle*'; }
# stream: pings between two containers until told to end; unbroken: five more
# are answered, and so were all up to the last (one more may be under way).
stream() { ip netns exec web ping -i 0.2 -w 600 10.50.0.3 >/tmp/ping 2>&1 & ping=$!; }
unbroken() {
	soon seen $(($(grep -c 'bytes from' /tmp/ping) + 5))
	more=$?
	kill -INT $ping
	wait $ping
	[ $more = 0 ] && sed -n 's/.*bytes from.*icmp_seq=\([0-9]*\).*/\1/p' /tmp/ping | sort -nu | awk '{ last = $1 } END { exit NR == 0 || NR != last }' ||
		{ cat /tmp/ping; return 1; }
}
# resolver and agent: whether one runs.
resolver() { for p in $(pidof heddled); do grep -qa resolve "/proc/$p/cmdline" && return; done; return 1; }
agent() { for p in $(pidof heddled); do grep -qa resolve "/proc/$p/cmdline" || return 0; done; return 1; }
seen() { [ "$(grep -c 'bytes from' /tmp/ping)" -ge "$1" ]; }

check "systemd runs" is "$(cat /proc/1/comm)" systemd
apt-get install nftables adduser >/tmp/out 2>&1 || fail "nftables" # stays: what is compared is our own
in_kernel >/tmp/kernel.before
in_files >/tmp/files.before

# the package
check "install" guide deb /root/one
check "unit active" is "$(systemctl is-active heddled)" active
check "unit enabled" is "$(systemctl is-enabled heddled)" enabled
check "Type=notify, ready" is "$(property Type)-$(property SubState)" notify-running
check "systemd-analyze verify" systemd-analyze verify --man=no heddled.service
check "no complaint about the unit" is "$(cat /tmp/out)" ""
echo "NOTE $(systemd-analyze security --no-pager heddled.service | tail -n 1)"
pid=$(property MainPID)
check "the host's mount namespace" is "$(readlink /proc/$pid/ns/mnt)" "$(readlink /proc/1/ns/mnt)"
check "seccomp, no new privileges" is "$(sed -n 's/^\(NoNewPrivs\|Seccomp\):\t//p' /proc/$pid/status | tr '\n' ' ')" "1 2 "
check "socket for the group" is "$(stat -c '%G %a' /run/heddle/heddle.sock)" "heddle 660"
adduser --quiet --system operator
check "operators" guide operators
check "an operator asks" setpriv --reuid operator --regid nogroup --init-groups heddle status
check "not everybody asks" no setpriv --reuid nobody --regid nogroup --clear-groups heddle status

# containers
check "first container" guide first
check "a second one" sh -exc 'ip netns add db; heddle attach app --netns /run/netns/db --id db --ip 10.50.0.3; ip netns exec web ping -c 1 10.50.0.3'
check "a routed network" sh -exc 'heddle network create wide --mode routed --subnet 10.60.0.0/24 --subnet fd00:60::/64; ip netns add far; heddle attach wide --netns /run/netns/far --id far; ip netns exec far ping -c 1 10.60.0.1; heddle audit'

# a restart, a crash, an upgrade
held() { grep -q " /run/heddle/elsewhere/web nsfs " /proc/self/mounts && is "$(stat -Lc %i /run/heddle/elsewhere/web)" "$(stat -Lc %i /run/netns/web)"; }
check "the agent may bind-mount" nsenter -t "$pid" -m sh -exc 'mkdir -p /run/heddle/elsewhere; touch /run/heddle/elsewhere/web; mount --bind /run/netns/web /run/heddle/elsewhere/web'
check "the host sees it" held
stream
check "traffic" soon seen 5
check "restart" systemctl restart heddled
check "another process" no is "$(property MainPID)" "$pid"
check "the mount outlives the restart" held
pid=$(property MainPID)
kill -9 "$pid"
newer() { [ "$(property MainPID)" != "$pid" ] && [ "$(property MainPID)" != 0 ] && heddle status >/dev/null; }
check "back after kill -9" soon newer
check "the mount outlives the crash" held
pid=$(property MainPID)
echo "# mine" >>/etc/heddle/heddled.yaml
check "upgrade" guide upgrade /root/two
check "it was one" is "$(dpkg-query -W -f '${Version}' heddle)" 1.0.1
check "the new agent runs" newer
check "configuration kept" grep -q mine /etc/heddle/heddled.yaml
check "the mount outlives the upgrade" held
check "no packet lost" unbroken
check "audit" heddle audit

# network managers
mkdir -p /etc/systemd/network
printf '[Match]\nName=h* c*\n[Network]\nAddress=192.0.2.1/24\nLinkLocalAddressing=no\nConfigureWithoutCarrier=yes\n' >/etc/systemd/network/50-all.network
ip link add control0 type veth peer name other
ip link set other up
bridge=$(ip -o link | sed -n 's/^[0-9]*: \(hb[0-9a-f]*\):.*/\1/p')
check "networkd starts" systemctl start systemd-networkd
configured() { ip -o address show dev control0 2>/dev/null | grep -q 192.0.2.1; }
check "networkd takes every other link" soon configured
managed() { networkctl list --no-legend | awk '$2 ~ /^h[bd]/ && $5 != "unmanaged" || $2 ~ /^h[bd]/ && /192.0.2/'; }
none_managed() { [ -z "$(managed)" ]; } # it may be looking at some
soon none_managed
check "networkd leaves our links alone" is "$(managed)" ""
check "none of ours got its address" is "$(ip -o address | grep 192.0.2.1 | grep -v control0)" ""
check "udev read our .link" sh -exc "udevadm test-builtin net_setup_link /sys/class/net/$bridge 2>&1 | grep 00-heddle.link"
whole() { heddle check >/dev/null && heddle audit >/dev/null; }
ours='^Deleted.*\(proto 104\|^Deleted 2\(6[6-9]\|70\|71\)[0-9][0-9]:\)'
ip monitor route rule >/tmp/monitor &
monitor=$!
stranger() { ip rule add pref 30000 from 198.51.100.0/24 table 100 protocol 105; }
strange() { ip rule | grep -q '^30000:'; }
stranger
check "networkd restarts" systemctl restart systemd-networkd
check "our routes and rules are whole" soon whole
if strange; then echo "NOTE networkd left a stranger's rule"; else echo "NOTE networkd removed a stranger's rule"; stranger; fi
echo "NOTE removed by networkd and put back: $(grep -a -c "$ours" /tmp/monitor)"
: >/tmp/monitor
check "networkd told to keep off" guide networkd
check "whole still" soon whole
check "a stranger's rule stays, too" strange
kill $monitor
check "nothing was deleted" is "$(grep -a "$ours" /tmp/monitor)" ""
check "networkd read the setting" is "$(journalctl -u systemd-networkd -o cat | grep -i -e unknown -e invalid -e ignoring)" ""
systemctl stop systemd-networkd.socket systemd-networkd
ip link del control0
ip rule del pref 30000
rm -r /etc/systemd/network/50-all.network /etc/systemd/networkd.conf.d

# removal and purge
check "a CNI configuration" guide cni
check "plugin where runtimes look" test -x /opt/cni/bin/heddle-cni -a -x /usr/lib/cni/heddle-cni -a -x /usr/libexec/netavark/heddle
stream
check "traffic" soon seen 5
check "remove" guide remove
check "the agent has ended" no agent
check "names are answered on" resolver
check "no CNI configuration names a plugin that is gone" is "$(ls -A /etc/cni/net.d)" ""
check "containers keep their networks" unbroken
check "installed again" guide deb /root/two
check "with all that was there" whole
check "an attach after it" sh -exc 'ip netns add late; heddle attach app --netns /run/netns/late --id late; ip netns exec late ping -c 1 10.50.0.3'
check "a detach" sh -exc "heddle detach late"
check "removed again" guide remove
check "purge" guide purge
for ns in web db far; do check "cut off: $ns" is "$(ip netns exec $ns ip -o link | wc -l) $(ip netns exec $ns ip -o link | grep -c eth0)" "1 0"; done
for ns in web db far late; do ip netns del $ns 2>/dev/null; done
deluser --quiet operator
rmdir /etc/cni/net.d /etc/cni /run/netns 2>/dev/null
in_kernel >/tmp/kernel.after
in_files >/tmp/files.after
check "nothing left in the kernel" diff /tmp/kernel.before /tmp/kernel.after
check "no process left" no pidof heddled
check "nothing left of files" diff /tmp/files.before /tmp/files.after
check "no group" no getent group heddle

# from source
in_files >/tmp/files.before
check "install.sh" /root/packaging/install.sh "" /usr/local
check "enable" guide enable
check "first container" guide first
check "back" guide back
check "disable" guide disable
check "uninstall" env PURGE=1 /root/packaging/uninstall.sh "" /usr/local
left="$(in_kernel | diff /tmp/kernel.before -)$(in_files | diff /tmp/files.before -)"
check "nothing left" is "$left" ""
check "no process left" no pidof heddled

# a record that cannot be read
check "install.sh" /root/packaging/install.sh "" /usr/local
check "enable" guide enable
check "first container" guide first
check "disable" guide disable
echo broken >/run/heddle/ledger.db
check "purge without the record" env PURGE=1 /root/packaging/uninstall.sh "" /usr/local
check "by the mark" is "$(grep -c "removing what bears" /tmp/out)" 1
ip netns del web
rmdir /run/netns 2>/dev/null
in_kernel >/tmp/kernel.after
in_files >/tmp/files.after
check "nothing left in the kernel" diff /tmp/kernel.before /tmp/kernel.after
check "nothing left of files" diff /tmp/files.before /tmp/files.after
check "no process left" no pidof heddled

echo MACHINE-DONE
poweroff -f
