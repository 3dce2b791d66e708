// Package boot has what is needed to boot a stock Debian kernel with a program of ours as its first
// process: the kernels in the cache that fetch.sh fills, their modules, and the archive of an
// initramfs. Labs of virtual machines use it, and the tests that run in a guest (test/vm).
package boot
