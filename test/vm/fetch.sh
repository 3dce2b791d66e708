#!/bin/sh
# fetch.sh fetches packages of Debian for tests, and unpacks them into the cache: the kernels that the VM tests boot,
# Debian 13's Podman, DPDK's testpmd, DHCP servers, NetworkManager, and a crun that moves interfaces. Each
# has a folder:
#
#   ${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}/vm/6.1    linux-image-cloud-amd64 of bookworm
#   ${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}/vm/6.12   linux-image-cloud-amd64 of bookworm-backports
#   ${HEDDLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle}/packages/SUITE+PACKAGE…
#
# A kernel's holds vmlinux (uncompressed), lib/modules (uncompressed) and package (the name and version of the Debian
# package). What is there already is left alone. apt runs on lists, a cache and a source file of its own: nothing is installed,
# and the machine's apt state stays as it is. The mirror is the machine's own; HEDDLE_DEBIAN_MIRROR overrides it.
#
#   fetch.sh                 fetch the kernels that are missing
#   fetch.sh mirror [DIR]    print the mirror named by the apt sources below DIR (default /etc/apt)
#   fetch.sh SET…            fetch these sets of packages that are missing, each with all that it depends on, and print their folders
set -eu

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

say() { echo "fetch.sh: $*" >&2; }
die() { say "$*"; exit 1; }

# sources DIR: every enabled binary source below DIR as a line "SUITES | COMPONENTS | URIS", Debian's own files first.
sources() {
	for file in "$1"/sources.list.d/debian.sources "$1"/sources.list "$1"/sources.list.d/*.sources "$1"/sources.list.d/*.list; do
		[ -f "$file" ] || continue
		case $file in
		*.sources) stanzas "$file" ;;
		*) lines "$file" ;;
		esac
	done
}

# lines FILE: the classic form, "deb [options] URI SUITE COMPONENT...".
lines() {
	sed -n -e 's/#.*//' -e 's/\[[^]]*\]//' -e 's/^[[:space:]]*deb[[:space:]]\{1,\}//p' "$1" |
		awk 'NF >= 3 { c = ""; for (i = 3; i <= NF; i++) c = c " " $i; print $2 " |" c " | " $1 }'
}

# stanzas FILE: the deb822 form, stanzas of fields with continuation lines.
stanzas() {
	awk '
		function flush() {
			if ((" " f["types"] " ") ~ /[ \t]deb[ \t]/ && tolower(f["enabled"]) !~ /^[ \t]*(no|false|without|off|disable|0)[ \t]*$/)
				print f["suites"] " | " f["components"] " | " f["uris"]
			split("", f)
		}
		/^#/ { next }
		/^[ \t]*$/ { flush(); next }
		/^[ \t]/ { f[key] = f[key] " " $0; next }
		{ key = tolower(substr($0, 1, index($0, ":") - 1)); f[key] = substr($0, index($0, ":") + 1) }
		END { flush() }' "$1"
}

# mirror DIR: the first address that offers this Debian release's (or bookworm's) main part.
mirror() {
	codename=$([ -r /etc/os-release ] && . /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}" || true)
	sources "$1" | awk -F'[|]' -v codename="$codename" '
		function has(list, word) { return word != "" && index(" " list " ", " " word " ") }
		{ gsub(/[ \t]+/, " ") }
		(has($1, "bookworm") || has($1, codename)) && has($2, "main") {
			n = split($3, uri, " ")
			for (i = 1; i <= n; i++) if (uri[i] !~ /^cdrom:/) { print uri[i]; exit }
		}'
}

# private SUITE TOOL ARGUMENT...: an apt tool on a private state that knows SUITE's main part and nothing else.
private() {
	apt=$scratch/apt-$1
	tool=$2
	shift 2
	"$tool" -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
		-o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User=root -o APT::Update::Error-Mode=any -o Acquire::Languages=none -o Acquire::Retries=3 "$@"
}

# open_suite SUITE: make SUITE's private apt state, if this run has not yet.
open_suite() {
	apt=$scratch/apt-$1
	[ ! -d "$apt" ] || return 0
	mirror=${HEDDLE_DEBIAN_MIRROR:-$(mirror /etc/apt)}
	[ -n "$mirror" ] || die "no Debian mirror in the sources below /etc/apt: set HEDDLE_DEBIAN_MIRROR to its address"
	[ -r "$keyring" ] || die "no $keyring: install the package debian-archive-keyring"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: >"$apt/status"
	echo "deb [arch=amd64 signed-by=$keyring] $mirror $1 main" >"$apt/sources.list"
	private "$1" apt-get update >"$apt/log" 2>&1 || {
		cat "$apt/log" >&2
		die "cannot read the package lists of $1 from $mirror (see above): check the network, or set HEDDLE_DEBIAN_MIRROR to a mirror that has $1"
	}
}

# unpack SUITE PACKAGE DIR: download a package and unpack its files into DIR.
unpack() {
	apt=$scratch/apt-$1
	(cd "$apt" && rm -f ./*.deb && private "$1" apt-get download "$2" >log 2>&1) || {
		cat "$apt/log" >&2
		die "cannot download $2 (see above): check the network and the free space"
	}
	dpkg-deb -x "$apt"/*.deb "$3"
}

# packages SUITE PACKAGE…: make the cache's folder of these packages, whole or not at all, and print it.
packages() {
	folder=${cache%/vm}/packages/$(echo "$*" | tr ' ' +)
	suite=$1
	shift
	if [ ! -d "$folder" ]; then
		open_suite "$suite"
		say "$suite: downloading $*"
		private "$suite" apt-get install -y --no-install-recommends --download-only "$@" >"$scratch/log" 2>&1 || {
			cat "$scratch/log" >&2
			die "cannot download $* (see above): check the network and the free space"
		}
		for deb in "$scratch/apt-$suite"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$scratch/packages"; done
		rm "$scratch/apt-$suite"/cache/archives/*.deb
		mkdir -p "${folder%/*}"
		chmod 0755 "$scratch/packages"
		mv -T "$scratch/packages" "$folder" 2>/dev/null || [ -d "$folder" ] || die "cannot make $folder: check the free space"
	fi
	echo "$folder"
}

# want COMMAND PACKAGE: where COMMAND is not installed, use it unpacked from PACKAGE, without installing it.
want() {
	command -v "$1" >/dev/null && return
	say "$1 is not installed, using it from the package $2"
	open_suite bookworm
	unpack bookworm "$2" "$scratch/tools"
	PATH=$PATH:$scratch/tools/usr/bin
}

# number FILE OFFSET BYTES: the little-endian number there.
number() { od -An -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# extract BZIMAGE: write the uncompressed ELF kernel to standard output (offsets: the x86 boot protocol's setup header).
extract() {
	sectors=$(number "$1" 497 1)
	[ "$sectors" != 0 ] || sectors=4
	start=$(((sectors + 1) * 512 + $(number "$1" 584 4)))
	length=$(($(number "$1" 588 4) - 4)) # the last four bytes are the uncompressed size
	tail -c "+$((start + 1))" "$1" | head -c "$length" >"$scratch/payload"
	case $(od -An -t x1 -N 4 "$scratch/payload" | tr -d ' ') in
	02214c18) want lz4 lz4 && lz4 -dcq <"$scratch/payload" ;;
	28b52ffd) want zstd zstd && zstd -dcq <"$scratch/payload" ;;
	fd377a58) want xz xz-utils && xz -dc <"$scratch/payload" ;;
	*) die "cannot unpack $1: its compression is none of lz4, zstd and xz" ;;
	esac
}

# fetch VERSION SUITE: make the cache's folder VERSION from SUITE's kernel, whole or not at all.
fetch() {
	if [ -f "$cache/$1/vmlinux" ]; then
		say "$1: already in $cache/$1"
		return
	fi
	say "$1: reading the package lists of $2"
	open_suite "$2"
	package=$(private "$2" apt-cache show --no-all-versions linux-image-cloud-amd64 | sed -n 's/^Depends: *\(linux-image-[^ ,]*\) *(= *\([^)]*\)).*/\1=\2/p')
	case $package in
	"linux-image-$1."*) ;;
	*) die "$2 offers '$package', not a linux-image-$1 package: adapt the versions at the end of fetch.sh" ;;
	esac
	say "$1: downloading $package"
	unpack "$2" "$package" "$scratch/$1.package"
	say "$1: unpacking"
	mkdir "$scratch/$1" "$scratch/$1/lib"
	extract "$scratch/$1.package"/boot/vmlinuz-* >"$scratch/$1/vmlinux"
	for lib in lib usr/lib; do
		[ ! -d "$scratch/$1.package/$lib/modules" ] || mv "$scratch/$1.package/$lib/modules" "$scratch/$1/lib/modules"
	done
	if [ -n "$(find "$scratch/$1/lib/modules" -name '*.ko.xz' | head -n 1)" ]; then
		want xz xz-utils
		find "$scratch/$1/lib/modules" -name '*.ko.xz' -exec xz -d {} +
	fi
	echo "$package" >"$scratch/$1/package"
	rm -rf "${cache:?}/$1"
	mv -T "$scratch/$1" "$cache/$1" || [ -f "$cache/$1/vmlinux" ]
	say "$1: ready in $cache/$1"
}

if [ "${1:-}" = mirror ]; then
	mirror "${2:-/etc/apt}"
	exit
fi

cache=${HEDDLE_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or HEDDLE_CACHE}/.cache}/heddle}/vm
mkdir -p "$cache"
scratch=$(mktemp -d "$cache/.fetch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# set_of NAME: make the set of packages of that name.
set_of() {
	case $1 in
	podman) packages trixie podman netavark aardvark-dns crun ;;                         # Debian 13's Podman
	crun) packages forky crun ;;                                                         # one that moves interfaces
	dhcp) packages bookworm isc-dhcp-server kea-dhcp4-server kea-dhcp6-server ;;         # ISC's servers, dhcpd and Kea
	networkmanager) packages bookworm network-manager dbus ;;                            # and its bus
	dpdk) packages bookworm dpdk-dev librte-net-virtio23 librte-mempool-ring23 ;;        # testpmd, and its driver for virtio
	*) die "there is no set $1: see the list in fetch.sh" ;;
	esac
}

if [ $# -gt 0 ]; then
	for name in "$@"; do set_of "$name"; done
	exit
fi
fetch 6.1 bookworm
fetch 6.12 bookworm-backports
