package link

import (
	"fmt"
	"os"

	"github.com/heddle-network/heddle/crowd/socket"
)

// orphanRetries is how often TCP sends again what nobody acknowledges after a program has closed the connection; Linux does
// so 8 times, for 102 s. 4 times take 6.2 s, and until the next one is due (ip-sysctl, tcp_orphan_retries).
const orphanRetries = 4

// ForgetOrphans has TCP give up connections that were closed, and whose far end is gone, within seconds. They keep a
// namespace, and its devices and addresses, where nobody sees it. Put does it for a user; those at the far end of a link
// need it as well: when a crowd is killed, either may be gone first, and what it said last was lost on the link.
func ForgetOrphans(n socket.Namespace) error { return n.Do(forgetOrphans) }

// EndOrphans has TCP give up such connections of a namespace that is to end at the next chance, which is within a second or two.
func EndOrphans(n socket.Namespace) error { return n.Do(func() error { return retryOrphans(1) }) }

func forgetOrphans() error { return retryOrphans(orphanRetries) }

// retryOrphans says how often they are retried in the thread's namespace.
func retryOrphans(times int) error {
	if err := os.WriteFile("/proc/sys/net/ipv4/tcp_orphan_retries", fmt.Append(nil, times), 0); err != nil {
		return fmt.Errorf("have TCP forget connections that were closed: %w", err)
	}
	return nil
}
