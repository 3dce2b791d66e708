#!/bin/sh
# deb.sh [FOLDER]: builds heddle_VERSION_ARCH.deb there (default: bin) out of the
# binaries in bin/ and prints its path. The same sources give the same bytes: the
# time is that of the last commit, or SOURCE_DATE_EPOCH.
#
# The version is git's: 1.2.3 at the tag v1.2.3, 1.2.3+4.gabc four commits later,
# 0.1.0~TIME.gabc without a tag; DEB_VERSION is another. DEB_COMPRESSION are options of dpkg-deb: -Zxz without it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../bin}
bin=${HEDDLE_BIN:-$here/../bin}

cd "$here/.."
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC

version() {
	if tag=$(git describe --tags --match 'v[0-9]*' 2>/dev/null); then
		echo "$tag" | sed -e 's/^v//' -e 's/-\([0-9]*\)-g/+\1.g/' -e 's/-/~/'
	else
		echo "0.1.0~$(date -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).g$(git rev-parse --short HEAD)"
	fi
}
version=${DEB_VERSION:-$(version)}
arch=$(dpkg --print-architecture)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
umask 022
HEDDLE_BIN=$bin "$here/install.sh" "$tree" /usr >/dev/null
rm "$tree/usr/share/heddle/files" # dpkg has its own list
rm -r "$tree/opt"                 # postinst makes the link: dpkg would take an empty /opt away
# on Debian there is a group for operators from the start: postinst makes it
sed -i 's/^#socketGroup:/socketGroup:/' "$tree/etc/heddle/heddled.yaml"

doc=$tree/usr/share/doc/heddle
mkdir -p "$doc" "$tree/usr/share/lintian/overrides" "$tree/DEBIAN"
cp "$here/debian/copyright" "$doc/copyright"
cp "$here/debian/lintian-overrides" "$tree/usr/share/lintian/overrides/heddle"
{
	printf 'heddle (%s) stable; urgency=medium\n\n' "$version"
	printf '  * See https://github.com/heddle-network/heddle/blob/main/CHANGELOG.md\n\n'
	printf ' -- heddle maintainers <maintainers@heddle.network>  %s\n' "$(date -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.gz"

echo /etc/heddle/heddled.yaml >"$tree/DEBIAN/conffiles"
for f in postinst prerm postrm; do install -m 0755 "$here/debian/$f" "$tree/DEBIAN/$f"; done
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort | xargs md5sum) >"$tree/DEBIAN/md5sums"
size=$(find "$tree" -path "$tree/DEBIAN" -prune -o -type f -printf '%s\n' | awk '{ n += int(($1 + 1023) / 1024) } END { print n }')
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$size/" "$here/debian/control" >"$tree/DEBIAN/control"
chmod 0644 "$tree"/DEBIAN/md5sums "$tree"/DEBIAN/control "$tree"/DEBIAN/conffiles

mkdir -p "$out"
deb=$(cd "$out" && pwd)/heddle_${version}_$arch.deb
dpkg-deb --root-owner-group ${DEB_COMPRESSION:--Zxz} --build "$tree" "$deb.new" >/dev/null
mv "$deb.new" "$deb"
echo "$deb"
