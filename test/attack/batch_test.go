package attack_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
)

// batchAttacks ask for many endpoints in one call.
func batchAttacks() []doorAttack {
	return []doorAttack{
		{class: "parser", name: "a batch longer than one may be", try: func(t *testing.T, h *hall) bool {
			batch := h.batchOf(heddle.MaxBatch + 1)
			results, err := h.AttachBatch(ctx, batch)
			return !refusedAs(err, heddle.TooMuch) || len(results) > 0
		}, control: func(t *testing.T, h *hall) bool {
			results, err := h.AttachBatch(ctx, h.batchOf(heddle.MaxBatch)) // of no container: each is refused by itself
			return err == nil && len(results) == heddle.MaxBatch
		}},
		{class: "parser", name: "a batch whose caller has gone", try: func(t *testing.T, h *hall) bool { return h.attachesAll(t, true) },
			control: func(t *testing.T, h *hall) bool { return h.attachesAll(t, false) }},
	}
}

// batchOf asks for endpoints in namespaces called many0 and so on.
func (h *hall) batchOf(count int) (batch []heddle.AttachRequest) {
	for i := range count {
		name := fmt.Sprint("many", i)
		batch = append(batch, heddle.AttachRequest{Network: h.mode, ID: idOf(name), Netns: "/run/netns/" + name})
	}
	return batch
}

// attachesAll reports whether the agent attaches all of a batch, whose caller ends the connection behind the request, or stays.
func (h *hall) attachesAll(t *testing.T, gone bool) bool {
	t.Helper()
	count := min(max(40, 8*runtime.GOMAXPROCS(0)), heddle.MaxBatch) // many more than the agent makes at once
	cell.Sh(t, "for i in $(seq 0 %d); do ip netns add many$i; done", count-1)
	defer cell.Sh(t, "for i in $(seq 0 %d); do ip netns del many$i; done", count-1)
	batch := h.batchOf(count)
	text, err := json.Marshal(client.AttachBatchRequest{Endpoints: batch})
	cell.Must(t, err)
	request, err := http.NewRequest("POST", "http://heddle"+client.PathAttachBatch, bytes.NewReader(text))
	cell.Must(t, err)
	c, err := net.Dial("unix", h.Socket)
	cell.Must(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	cell.Must(t, request.Write(c))
	if gone {
		cell.Must(t, c.(*net.UnixConn).CloseWrite())
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), request)
	cell.Must(t, err)
	defer answer.Body.Close()
	var reply client.AttachBatchReply
	cell.Must(t, json.NewDecoder(answer.Body).Decode(&reply))
	made := 0
	for i, r := range reply.Results {
		_, err := h.Endpoint(ctx, batch[i].ID)
		if there := err == nil; there != (r.Error == nil) {
			t.Errorf("%s: said %v, asked %v", r.ID, r.Error, err)
		}
		if r.Error == nil {
			made++
		}
		h.Detach(ctx, batch[i].ID)
	}
	t.Logf("%d of %d", made, count)
	return made == count
}
