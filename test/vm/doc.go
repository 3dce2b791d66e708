// Package vm runs the tests of any package inside a small virtual machine, under a stock Debian kernel.
//
// The running test binary boots itself: it becomes /init of an initramfs that also holds the kernel modules and the host's tools
// (ip, nft, ...) the tests need. There is no root file system, no shell script and no service in the guest. QEMU emulates the
// processor (TCG), so no virtualization support is needed, only patience: everything is several times slower than on the host,
// and no test may assert a latency or a throughput there.
//
// A package takes part with two functions:
//
//	func TestMain(m *testing.M) { os.Exit(vm.Main(m)) }
//
//	func TestInGuests(t *testing.T) { vm.RunInGuests(t, "^TestKernel") }
//
// The kernels come from the cache that fetch.sh fills. What is absent is skipped with the reason,
// or is a failure when HEDDLE_REQUIRE_VM=1.
package vm
