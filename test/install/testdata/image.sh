#!/bin/sh
# image.sh TREE MODULES FOLDER: makes FOLDER/disk, an ext4 image of the Debian in
# TREE with FOLDER/root as its /root and the kernel's modules, and
# FOLDER/initramfs, which finds it. At its start the machine runs
# /root/machine.sh and shows it on its console. Run by "unshare -m".
set -eu

tree=$1 modules=$2 out=$3 here=$(cd "$(dirname "$0")" && pwd)
mount --make-rprivate /
mkdir "$out/layer" "$out/tree"
mount -t tmpfs layer "$out/layer"
mkdir "$out/layer/up" "$out/layer/work"
mount -t overlay over -o "lowerdir=$tree,upperdir=$out/layer/up,workdir=$out/layer/work" "$out/tree"
root=$out/tree

cp -a "$out/root/." "$root/root"
chown -R 0:0 "$root/root"
chmod 0700 "$root/root"
mkdir -p "$root/usr/lib/modules"
cp -a "$modules/." "$root/usr/lib/modules"
kernel=$(ls "$modules")
depmod -b "$root" "$kernel"
rm -f "$root/etc/resolv.conf"
echo machine >"$root/etc/hostname"
echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id" # or it were a first boot
echo '127.0.0.1 localhost machine' >"$root/etc/hosts"
cat >"$root/etc/apt/apt.conf.d/test" <<-'EOF'
	APT::Get::Assume-Yes "true";
	APT::Get::Download "false";
EOF
cat >"$root/etc/systemd/system/machine.service" <<-'EOF'
	[Unit]
	After=multi-user.target
	[Service]
	Type=oneshot
	TimeoutStartSec=infinity
	Environment=HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive
	WorkingDirectory=/root
	ExecStart=/bin/sh /root/machine.sh
	StandardOutput=tty
	StandardError=tty
	TTYPath=/dev/ttyS0
EOF
ln -s ../machine.service "$root/etc/systemd/system/multi-user.target.wants/machine.service"
ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
for unit in serial-getty@ttyS0.service getty@tty1.service apt-daily.timer apt-daily-upgrade.timer; do
	ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

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
