package kernel

import (
	"os"
	"sync"
)

// hasIPv6 reports whether the kernel was started with IPv6; ipv6.disable=1
// leaves it out until the next boot.
var hasIPv6 = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/sys/net/ipv6/conf")
	return err == nil
})
