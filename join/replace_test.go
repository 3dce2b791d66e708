package join

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
)

// TestReplace has a keeper replaced by the host that the operator names, of two
// that there are.
func TestReplace(t *testing.T) {
	soak.Turn(t, 0)
	h := newHosts(t)
	h.start(1, nil)
	h.alive(1)
	token := h.token(6)
	for i := 2; i <= 5; i++ {
		h.join(i, token)
	}
	h.promote(1, "host2", "host3", "host4", "host5")
	h.await("five voters", func() bool { return h.voters(1) == 5 })
	h.join(6, token)
	h.join(7, token)
	o := h.operator(1)
	q := memberRequest{Underlay: h.nodes[6].opt.Underlay, Clock: time.Now()}
	wantCode(t, h.nodes[6].callDoors(h.ctx(), pathMember, q, &memberReply{}), heddle.StoreRefused, "host promote host6")
	brief, cancel := context.WithTimeout(h.ctx(), time.Second)
	defer cancel()
	wantCode(t, o.awaitVote(brief, "host6"), heddle.Waited, "host6", "no member of the store yet")

	h.stop(3)
	h.leave(1, 3)
	if err := o.Replace(h.ctx(), "host3", "host7"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range must(o.state(h.ctx())).members {
		got = append(got, m.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"host1", "host2", "host4", "host5", "host7"}) {
		t.Errorf("the store is kept by %v", got)
	}
	if strings.Contains(h.log(6), "keeps the store from now on") {
		t.Error("host6 kept it, too")
	}
}

func (h *hosts) log(i int) string {
	return string(must(os.ReadFile(filepath.Join(h.dir, fmt.Sprintf("log%d", i)))))
}

// TestInsist: a call that the store did not answer is repeated, a refused one is not.
func TestInsist(t *testing.T) {
	tries := 0
	fails := func(errs ...error) func() error {
		tries = 0
		return func() error { tries++; return errs[min(tries, len(errs))-1] }
	}
	down := storeError("take off", "host2", rpctypes.ErrGRPCStopped)
	closing := storeError("read rights of", "host2", status.Error(codes.Canceled, "grpc: the client connection is closing"))
	if err := retryWhileDown(t.Context(), fails(down, closing, nil)); err != nil || tries != 3 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	if err := retryWhileDown(t.Context(), fails(noHostError("host2"), nil)); !errors.Is(err, heddle.NoHost.Sentinel()) || tries != 1 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if err := retryWhileDown(over, fails(down, nil)); err == nil || tries != 1 {
		t.Errorf("without time, after %d tries: %v", tries, err)
	}
}
