// Package join_test has hosts found a cluster, join it, keep its store and leave
// it, with the programs that a user has.
package join_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

// patience is what a change of the cluster's hosts may take: an agent waits up to 90 s
// for a vote.
const patience = 3 * time.Minute

// hosts are those of a lab, by number.
type hosts struct {
	*testing.T
	lab     *lab.Lab
	heddled string
	heddle  string
}

func newHosts(t *testing.T, number int) *hosts {
	cell.Need(t)
	h := &hosts{T: t, heddled: cell.Build(t, "heddled"), heddle: cell.Build(t, "heddle")}
	var err error
	if h.lab, err = lab.Up(t.Context(), lab.Options{Name: "join", Hosts: number, Dir: t.TempDir(), AgentCommand: []string{h.heddled}, AgentsLater: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for i := range number {
			if t.Failed() {
				text, _ := os.ReadFile(h.host(i + 1).Log)
				t.Logf("host%d:\n%s", i+1, text)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.lab.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *hosts) host(i int) *lab.Host { return h.lab.Hosts[i-1] }

// run runs a command in a host, and returns what it printed and its exit code.
func (h *hosts) run(i int, argv ...string) (string, int) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd, err := h.host(i).Command(ctx, argv...)
	if err != nil {
		h.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs heddle about a host's agent.
func (h *hosts) must(i int, args ...string) string {
	h.Helper()
	out, code := h.run(i, append([]string{h.heddle}, args...)...)
	if code != 0 {
		h.Fatalf("host%d: heddle %s: exit %d\n%s", i, strings.Join(args, " "), code, out)
	}
	return out
}

// refused runs heddle, which fails with a code that its output names.
func (h *hosts) refused(i int, code heddle.Code, args ...string) {
	h.Helper()
	x, _ := heddle.Explain(code)
	out, exit := h.run(i, append([]string{h.heddle}, args...)...)
	if exit != int(x.Kind) || !strings.Contains(out, string(code)) {
		h.Errorf("host%d: heddle %s: exit %d, not %d with %s\n%s", i, strings.Join(args, " "), exit, x.Kind, code, out)
	}
}

func (h *hosts) start(i int, args ...string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.host(i).StartAgent(ctx, args...); err != nil {
		h.Fatal(err)
	}
}

// token puts a token where only a host's agent can read it.
func (h *hosts) token(i int, token string) string {
	h.Helper()
	file, err := h.host(i).PutToken(h.Context(), token)
	if err != nil {
		h.Fatal(err)
	}
	return file
}

// join starts a host that comes by a token.
func (h *hosts) join(i int, address, token string) {
	h.Helper()
	h.start(i, "--join", address, "--token-file", h.token(i, token), "--underlay", "eth0")
}

// named has an operator name keepers of the store, in each of the ways that are of
// no use first.
func (h *hosts) named() {
	h.Helper()
	if out := h.must(4, "status"); !strings.Contains(out, "1 keeper of 4 hosts") {
		h.Errorf("the status does not say that more keepers would be wise:\n%s", out)
	}
	for name, x := range h.list(4) {
		if x.Admitted.IsZero() || len(x.Key) != 64 || (x.Token == "") != (name == "host1") {
			h.Errorf("%s: admitted %v by token %q with key %q", name, x.Admitted, x.Token, x.Key)
		}
	}
	h.refused(1, heddle.BadArgument, "host", "promote")
	h.refused(1, heddle.NoHost, "host", "promote", "host2", "host9")
	h.refused(1, heddle.BadArgument, "host", "demote", "host1")
	h.refused(1, heddle.NoHost, "host", "demote", "host9")
	h.must(1, "host", "promote", "host2", "host3")
	h.must(1, "host", "promote", "host2") // it is already
}

// granted has an operator let a host that does not keep the store write networks.
func (h *hosts) granted() {
	h.Helper()
	may := func(i int, name string) bool { return slices.Contains(h.list(i)[name].May, "networks") }
	create := []string{"network", "create", "app", "--mode", "overlay", "--subnet", "10.30.0.0/24"}
	h.refused(4, heddle.NotGranted, create...)
	h.refused(4, heddle.NoCredential, "host", "grant", "host4", "networks")
	h.refused(1, heddle.NoHost, "host", "grant", "host9", "networks")
	h.refused(1, heddle.BadArgument, "host", "grant", "host4", "all")
	h.refused(1, heddle.BadArgument, "host", "grant", "host4")
	h.refused(1, heddle.BadArgument, "host", "revoke", "host1", "networks") // it keeps the store
	if !may(4, "host1") || may(4, "host4") {
		h.Errorf("before: %+v", h.list(4))
	}
	if out := h.must(1, "host", "grant", "host4", "networks", "-o", "json"); !strings.Contains(out, `"HostGrant"`) || !strings.Contains(out, `"networks"`) {
		h.Errorf("the grant says %s", out)
	}
	h.must(1, "host", "grant", "host4", "networks") // it is already
	if !may(4, "host4") || !may(1, "host4") {
		h.Errorf("after the grant: %+v", h.list(4))
	}
	h.must(4, create...)
	h.must(1, "host", "revoke", "host4", "networks")
	h.must(1, "host", "revoke", "host4", "networks") // it is already
	if may(4, "host4") {
		h.Errorf("after it was taken back: %+v", h.list(4))
	}
	h.refused(4, heddle.NotGranted, "network", "delete", "app")
	h.must(4, create...) // it is there
	h.must(4, "network", "create", "own", "--mode", "bridge", "--subnet", "10.31.0.0/24")
	h.must(4, "network", "allow", "app", "own") // which is this host's to say
	if out, code := h.run(2, "sh", "-c", "until "+h.heddle+" network show app; do sleep 0.1; done"); code != 0 {
		h.Fatal(out)
	}
	h.must(2, "network", "delete", "app")
	h.must(4, "network", "delete", "own")
}

// kill ends a host's agent without a word, and waits until it is gone.
func (h *hosts) kill(i int) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.host(i).KillAgent(ctx); err != nil {
		h.Fatal(err)
	}
}

// list are the hosts as one of them sees them.
func (h *hosts) list(i int) map[string]client.HostStatus {
	h.Helper()
	var doc struct{ Items []client.HostStatus }
	if err := json.Unmarshal([]byte(h.must(i, "host", "list", "-o", "json")), &doc); err != nil {
		h.Fatal(err)
	}
	all := map[string]client.HostStatus{}
	for _, x := range doc.Items {
		all[x.Name] = x
	}
	return all
}

// await waits until the hosts, as one of them sees them, have roles and states:
// "host1=voter/alive"; a leader is a voter.
func (h *hosts) await(i int, want ...string) {
	h.Helper()
	_, err := poll.Until(patience, 100*time.Millisecond, func() error {
		got := map[string]string{}
		for name, x := range h.list(i) {
			got[name+"="+strings.Replace(x.Role, "leader", "voter", 1)+"/"+x.State] = ""
		}
		ok := len(got) == len(want)
		for _, w := range want {
			_, there := got[w]
			ok = ok && there
		}
		if !ok {
			return fmt.Errorf("host%d sees %v, not %v", i, got, want)
		}
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
}

func TestLife(t *testing.T) {
	h := newHosts(t, 5)
	address := h.host(1).Addr4.String()
	h.start(1, "--store", "embedded", "--underlay", "eth0")
	token := strings.TrimSpace(h.must(1, "host", "token", "--uses", "3"))

	h.strangers(address, token)
	for i := 2; i <= 4; i++ {
		h.join(i, address, token)
	}
	h.await(1, "host1=voter/alive", "host2=client/alive", "host3=client/alive", "host4=client/alive")
	h.named()
	h.await(1, "host1=voter/alive", "host2=voter/alive", "host3=voter/alive", "host4=client/alive")
	h.refused(4, heddle.NoCredential, "host", "token")
	h.refused(4, heddle.NoCredential, "host", "remove", "host3")
	h.refused(4, heddle.NoCredential, "host", "promote", "host4")
	h.refused(4, heddle.NoCredential, "host", "demote", "host1")
	h.granted()
	h.refused(1, heddle.NoHost, "host", "remove", "host9")
	h.refused(1, heddle.BadArgument, "host", "remove", "host1")
	h.refused(1, heddle.BadArgument, "host", "replace", "host3", "host2")

	// a voter dies, and is replaced from a host that was given the credential
	h.kill(3)
	h.await(2, "host1=voter/alive", "host2=voter/alive", "host3=voter/away", "host4=client/alive")
	credential := h.file(1, "operator.pem")
	if err := os.Chmod(credential, 0o644); err != nil {
		h.Fatal(err)
	}
	h.refused(4, heddle.OpenSecret, "host", "token", "--credential", credential)
	if err := os.Chmod(credential, 0o600); err != nil {
		h.Fatal(err)
	}
	h.must(4, "host", "replace", "host3", "host4", "--credential", credential)
	h.await(4, "host1=voter/alive", "host2=voter/alive", "host4=voter/alive")

	h.restartAll(4, 2, 1)
	h.comeBack(address)
	h.withdrawn(address)
	h.must(2, "audit")
}

// strangers are started with what lets nobody in; they say why, and keep nothing.
func (h *hosts) strangers(address, token string) {
	h.Helper()
	for _, c := range []struct {
		what, token string
		code        heddle.Code
		args        []string
	}{
		{"cut token", token[:40], heddle.BadToken, []string{"--join", address}},
		{"wrong token", token[:len(token)-26] + strings.Repeat("a", 26), heddle.BadToken, []string{"--join", address}},
		{"a token for all to see", "", heddle.OpenSecret, []string{"--join", address, "--token", token}},
		{"a host alone", token, heddle.StoreDown, []string{"--join", h.host(5).Addr4.String()}},
		{"no token", "", heddle.BadArgument, []string{"--join", address}},
		{"no such interface", token, heddle.NoParent, []string{"--join", address, "--underlay", "eth7"}},
		{"a name that is taken", token, heddle.HostExists, []string{"--join", address, "--name", "host1"}},
	} {
		if c.token != "" {
			c.args = append(c.args, "--token-file", h.token(2, c.token))
		}
		out, exit := h.run(2, append([]string{h.heddled, "--underlay", "eth0"}, c.args...)...)
		x, _ := heddle.Explain(c.code)
		if exit != int(x.Kind) || !strings.Contains(out, string(c.code)) {
			h.Errorf("%s: exit %d, not %d with %s\n%s", c.what, exit, x.Kind, c.code, out)
		}
		if left, _ := h.run(2, "sh", "-c", "ls /var/lib/heddle/cluster | grep -vx -e id -e host.key"); strings.Contains(left, ".") {
			h.Errorf("%s leaves %s", c.what, left)
		}
	}
	h.start(5)
	h.refused(5, heddle.NoStore, "host", "list")
	h.refused(5, heddle.NoStore, "host", "token")
}

// file copies a file out of a host's state, to where all hosts see it.
func (h *hosts) file(i int, name string) string {
	h.Helper()
	text, code := h.run(i, "cat", "/var/lib/heddle/cluster/"+name)
	if code != 0 {
		h.Fatal(text)
	}
	path := h.TempDir() + "/" + name
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
	return path
}

// restartAll kills all hosts of the cluster and starts them in an order, each
// with no more than its underlay: they are what they were, and none waits for
// the others.
func (h *hosts) restartAll(order ...int) {
	h.Helper()
	for _, i := range order {
		h.kill(i)
	}
	for k, i := range order {
		h.start(i, "--underlay", "eth0")
		if k == 0 {
			if out, code := h.run(i, h.heddle, "status"); code != int(heddle.Failed) || !strings.Contains(out, "store") {
				h.Errorf("one of %d voters: exit %d\n%s", len(order), code, out)
			}
		}
	}
	var all []string
	for _, i := range order {
		all = append(all, fmt.Sprintf("host%d=voter/alive", i))
	}
	h.await(order[0], all...)
}

// comeBack has the host that was removed start again as it is, and then anew.
func (h *hosts) comeBack(address string) {
	h.Helper()
	h.start(3, "--underlay", "eth0")
	_, err := poll.Until(patience, 200*time.Millisecond, func() error {
		if told, _ := h.run(3, h.heddle, "status"); !strings.Contains(told, string(heddle.HostRemoved)) {
			return fmt.Errorf("a host that was removed says\n%s", told)
		}
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
	h.kill(3)
	h.run(3, "sh", "-c", "rm -r /var/lib/heddle/*")
	token := strings.TrimSpace(h.must(1, "host", "token", "--may", "networks"))
	h.join(3, address, token)
	h.await(1, "host1=voter/alive", "host2=voter/alive", "host3=client/alive", "host4=voter/alive")
	h.must(3, "network", "create", "app", "--mode", "overlay", "--subnet", "10.30.0.0/24")
	h.must(3, "network", "delete", "app")
	if out, exit := h.run(5, h.heddled, "--join", address, "--token-file", h.token(5, token), "--underlay", "eth0", "--run-dir", "/run/other", "--state-dir", "/run/other"); exit != int(heddle.Usage) || !strings.Contains(out, "used up") {
		h.Errorf("a used token: exit %d\n%s", exit, out)
	}
}
