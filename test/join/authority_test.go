package join_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/poll"
)

// authority is where a host finds the authority's key to be.
func (h *hosts) authority(i int) map[string]client.AuthorityKeeper {
	h.Helper()
	var a client.Authority
	if err := json.Unmarshal([]byte(h.must(i, "host", "authority", "-o", "json")), &a); err != nil {
		h.Fatal(err)
	}
	all := map[string]client.AuthorityKeeper{}
	for _, k := range a.Keepers {
		all[k.Name] = k
	}
	return all
}

// withdrawn takes the authority's key off hosts 1, 2 and 4, which keep the store, while
// one is away; a host joins when it is lent; and it is returned.
func (h *hosts) withdrawn(address string) {
	h.Helper()
	h.refused(3, heddle.NoCredential, "host", "authority")
	credential := h.file(1, "operator.pem")
	h.refused(3, heddle.NoCredential, "host", "authority", "export", h.TempDir()+"/key", "--credential", credential)
	file := h.TempDir() + "/authority.pem"
	h.must(1, "host", "authority", "export", file)
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		h.Fatalf("%v %v", st, err)
	}
	was, err := os.ReadFile(file)
	if err != nil {
		h.Fatal(err)
	}
	h.refused(1, heddle.BadArgument, "host", "authority", "export", file)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(was) {
		h.Errorf("the file was replaced: %v", err)
	}
	if out, code := h.run(1, "sh", "-c", h.heddle+" host authority export --fd 1"); code != 0 || out != string(was) {
		h.Errorf("to a descriptor: exit %d\n%s", code, out)
	}
	wide := h.TempDir() + "/wide.pem"
	if err := os.WriteFile(wide, nil, 0o644); err != nil {
		h.Fatal(err)
	}
	if out, code := h.run(1, "sh", "-c", h.heddle+" host authority export --fd 9 9>"+wide); code != int(heddle.Usage) || !strings.Contains(out, string(heddle.OpenSecret)) {
		h.Errorf("to a file that others can read: exit %d\n%s", code, out)
	}
	h.refused(1, heddle.OpenSecret, "host", "authority", "withdraw", wide)
	h.refused(1, heddle.BadArgument, "host", "authority", "withdraw", credential)
	h.refused(1, heddle.BadArgument, "host", "authority", "lend", file)

	h.kill(4)
	h.soon("the key to be withdrawn while a keeper is away", func() bool {
		out, code := h.run(1, h.heddle, "host", "authority", "withdraw", file)
		if code == int(heddle.Timeout) { // the store's leader was killed
			return false
		}
		if code != int(heddle.Partial) || !strings.Contains(out, "host4") || !strings.Contains(out, "not known") {
			h.Errorf("exit %d\n%s", code, out)
		}
		return true
	})
	h.start(4, "--underlay", "eth0")
	h.soon("the keeper that was away to delete the key", func() bool { k := h.authority(2)["host4"]; return !k.Disk && k.Problem == "" })
	for _, i := range []int{1, 2, 4} {
		if out, _ := h.run(i, "sh", "-c", "ls -A /var/lib/heddle/cluster | grep ca.key"); out != "" {
			h.Errorf("host%d has %s", i, out)
		}
	}
	h.soon("the status to say so", func() bool { return strings.Contains(h.must(3, "status"), "off the hosts since") })
	h.refused(1, heddle.AuthorityAway, "host", "authority", "export", h.TempDir()+"/key")

	// the fifth host was alone until now
	token := h.token(5, strings.TrimSpace(h.must(1, "host", "token")))
	h.kill(5)
	joined := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		joined <- h.host(5).StartAgent(ctx, "--join", address, "--token-file", token, "--underlay", "eth0")
	}()
	h.soon("the host that joins to say why it waits", func() bool {
		text, _ := os.ReadFile(h.host(5).Log)
		return strings.Contains(string(text), string(heddle.AuthorityAway))
	})
	h.must(1, "host", "authority", "lend", file, "--for", "1h")
	if err := <-joined; err != nil {
		h.Fatal(err)
	}
	h.soon("it to be in the cluster", func() bool { return h.list(1)["host5"].State == "alive" })
	h.must(2, "host", "authority", "return", file)
	for name, k := range h.authority(4) {
		if !k.Disk {
			h.Errorf("%s: %+v", name, k)
		}
	}
}

// soon waits for something.
func (h *hosts) soon(what string, ok func() bool) {
	h.Helper()
	poll.For(h.T, patience, 200*time.Millisecond, "waiting for "+what, ok)
}
