// Package boot boots a stock Debian kernel with a program of ours as its first process. It handles
// the kernels in the cache that fetch.sh fills, their modules, and the archive of an initramfs.
// Labs of virtual machines use it, and so do the tests that run in a guest (test/vm).
package boot
