#!/bin/sh
# image.sh TREE MODULES FOLDER: makes FOLDER/disk, an ext4 image of the Debian in
# TREE with FOLDER/root as its /root, the files of FOLDER/over, if it is there, and the
# kernel's modules, and FOLDER/initramfs, which finds it. At its start the machine runs
# /root/machine.sh and shows it on its console. Run by "unshare -m".
set -eu

tree=$1 modules=$2 out=$3 here=$(cd "$(dirname "$0")" && pwd)
mount --make-rprivate /
mkdir "$out/layer" "$out/tree"
mount -t tmpfs layer "$out/layer"
mkdir "$out/layer/up" "$out/layer/work"
mount -t overlay over -o "lowerdir=$tree,upperdir=$out/layer/up,workdir=$out/layer/work" "$out/tree"
root=$out/tree

[ ! -d "$out/over" ] || cp -rP "$out/over/." "$root"
"$here/furnish.sh" "$root" "$out/root" /dev/ttyS0
mkdir -p "$root/usr/lib/modules"
cp -a "$modules/." "$root/usr/lib/modules"
kernel=$(ls "$modules")
depmod -b "$root" "$kernel"

mkdir -p "$out/init/bin" "$out/init/dev" "$out/init/disk" "$out/init/modules"
cp /bin/busybox "$out/init/bin/busybox"
cp "$here/init.sh" "$out/init/init"
chmod +x "$out/init/init"
for m in virtio_pci virtio_blk ext4; do
	modprobe -d "$root" -S "$kernel" --show-depends "$m"
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
	cp "$file" "$out/init/modules/"
	basename "$file"
done >"$out/init/modules/list"
(cd "$out/init" && find . | cpio -o -H newc --quiet) >"$out/initramfs"

mkfs.ext4 -q -d "$root" -E lazy_itable_init=1 -O ^has_journal "$out/disk" 1500M
