#!/bin/sh
# shell.sh: what the machine runs: a shell for who is at the other end of a port of QEMU's. The port has an end while nobody is
# there, and can be opened once.
while :; do
	bash --noprofile --norc <>/dev/virtio-ports/shell >&0 2>&1
	sleep 0.2
done
