package aws

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
	local "github.com/heddle-network/heddle/test/cloud"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

const me = "i-0aa"

// newCloud starts a cloud at the address that the metadata service has, and returns it with the provider of a new agent. open makes another one, with other settings.
func newCloud(t *testing.T, change func(*local.Options)) (c *local.Cloud, p *eni.Provider, opener func(func(*eni.Settings)) *eni.Provider) {
	t.Helper()
	cell.Need(t)
	o := local.Options{Instance: me, Type: "local.large", NICs: 4, IPv4s: 4, IPv6s: 4, VSwitches: map[string]local.VSwitch{"subnet-1": {
		V4: netip.MustParsePrefix("192.0.2.0/24"), V6: netip.MustParsePrefix("2001:db8::/64"), Free: 100}}}
	if change != nil {
		change(&o)
	}
	c = local.New(o)
	host, ca := local.Serve(t, c.EC2(), c.EC2Metadata(), local.EC2MetadataAddr)
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	cell.Must(t, os.WriteFile(file, []byte("aws:\n  networks:\n    lan: {subnet: subnet-1, securityGroups: [sg-1]}\n    gone: {subnet: subnet-2, securityGroups: [sg-1]}\n  ec2: "+host+"\n  ca: "+ca+"\n"), 0o600))
	opener = func(change func(*eni.Settings)) *eni.Provider {
		t.Helper()
		c, err := open(file)
		cell.Must(t, err)
		s := c.settings()
		change(&s)
		return eni.New(c, s)
	}
	return c, opener(as), opener
}

// as leaves settings as they are.
func as(*eni.Settings) {}

// lags has an agent believe that the list is behind for no longer than that.
func lags(d time.Duration) func(*eni.Settings) { return func(s *eni.Settings) { s.Lag = d } }
