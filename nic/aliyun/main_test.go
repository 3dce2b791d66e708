package aliyun

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

const (
	me     = "i-me"
	fourth = "192.0.2.0/24"
)

// agent is an agent's provider, and what of it is this package's.
type agent struct {
	*eni.Provider
	ecs  *ecs
	file string
}

// again is an agent that is started anew, with its settings changed.
func (a *agent) again(t *testing.T, change func(*eni.Settings)) *agent {
	t.Helper()
	c, err := open(a.file)
	cell.Must(t, err)
	s := c.settings()
	change(&s)
	return &agent{eni.New(c, s), c, a.file}
}

// lags has an agent believe that the list is behind for no longer than that.
func lags(d time.Duration) func(*eni.Settings) { return func(s *eni.Settings) { s.Lag = d } }

// newCloud starts a cloud at the address that the metadata service has, and returns it with the provider of a new agent. open makes another one.
func newCloud(t *testing.T, change func(*cloud.Options)) (c *cloud.Cloud, p *agent, open func() *agent) {
	t.Helper()
	cell.Need(t)
	o := cloud.Options{Instance: me, Type: "ecs.local.large", NICs: 4, VSwitches: map[string]cloud.VSwitch{"vsw-1": {
		V4: netip.MustParsePrefix(fourth), V6: netip.MustParsePrefix("2001:db8::/64"), Free: 100}}, IPv6s: 1}
	if change != nil {
		change(&o)
	}
	c = cloud.New(o)
	host, ca := cloud.Serve(t, c.API(), c.Metadata(), cloud.MetadataAddr)
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	cell.Must(t, os.WriteFile(file, []byte("aliyun:\n  networks:\n    lan: {vswitch: vsw-1, securityGroups: [sg-1]}\n    gone: {vswitch: vsw-2, securityGroups: [sg-1]}\n    same: {vswitch: vsw-1, securityGroups: [sg-2]}\n"+
		"  ecs: "+host+"\n  vpc: "+host+"\n  ca: "+ca+"\n"), 0o600))
	open = func() *agent {
		t.Helper()
		return (&agent{file: file}).again(t, func(*eni.Settings) {})
	}
	return c, open(), open
}

// quick is a cloud that needs a moment for everything.
var quick = cloud.Faults{Delay: 100 * time.Millisecond, Lag: 150 * time.Millisecond}
