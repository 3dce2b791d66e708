package world

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Resolve asks for a name in a container as stubs do: again if nobody answers, and by TCP if it is
// told to. It returns
// what the answer's records say, sorted and joined by spaces, or the code of one that has none, such
// as NXDOMAIN.
func Resolve(in interface{ Do(func() error) error }, network string, at netip.Addr, name string, kind uint16) (said string, err error) {
	var r *dns.Msg
	c := dns.Client{Net: network, Timeout: 2 * time.Second}
	err = in.Do(func() (err error) {
		for try := 0; try == 0 || errors.Is(err, os.ErrDeadlineExceeded) && try < 4; try++ {
			r, _, err = c.Exchange(new(dns.Msg).SetQuestion(dns.Fqdn(name), kind), netip.AddrPortFrom(at, 53).String())
			if err == nil && r.Truncated && c.Net != "tcp" {
				c.Net, try = "tcp", -1
			}
		}
		return err
	})
	if err != nil || len(r.Answer) == 0 {
		return codeOf(r), err
	}
	var all []string
	for _, rr := range r.Answer {
		all = append(all, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	slices.Sort(all)
	return strings.Join(all, " "), nil
}

func codeOf(r *dns.Msg) string {
	if r == nil {
		return ""
	}
	return dns.RcodeToString[r.Rcode]
}
