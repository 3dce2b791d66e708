package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/join"
)

// TestAdmitted: a host that was let in and never appeared is in the list, with how it
// came.
func TestAdmitted(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	all := addAdmissions([]client.HostStatus{{Name: "host1", State: "alive", Role: "leader"}, {Name: "old", State: "away", Role: "client"}},
		[]join.Admission{{Name: "ghost", ID: "0123456789abcdef", At: at, Token: "t2", Key: "k2"}, {Name: "host1", At: at, Key: "k1"}})
	if len(all) != 3 {
		t.Fatalf("%d hosts: %+v", len(all), all)
	}
	if h := all[0]; h.State != "alive" || h.Key != "k1" || h.Token != "" || !h.Admitted.Equal(at) {
		t.Errorf("%+v", h)
	}
	if h := all[2]; h.Name != "ghost" || h.ID != "0123456789abcdef" || h.State != "absent" || h.Role != "client" || h.Key != "k2" || h.Token != "t2" {
		t.Errorf("%+v", h)
	}
}

// TestAdviceOnKeepers counts hosts by a letter each: v votes, l learns, c is a client,
// x never appeared.
func TestAdviceOnKeepers(t *testing.T) {
	for hosts, word := range map[string]string{
		"": "", "v": "", "vc": "", "vl": "", "vcxx": "",
		"vcc": "1 keeper of 3 hosts", "vccc": "name 2 more", "vlc": "2 keepers of 3 hosts", "vlcc": "name 1 more",
		"vvv": "", "vvvcccccc": "", "vvvl": "", "vvvlc": "stands by", "vvvvv": "", "ccc": "",
	} {
		var all []client.HostStatus
		for _, x := range hosts {
			all = append(all, client.HostStatus{Role: map[rune]string{'v': "voter", 'l': "learner"}[x], State: "alive"})
			if h := &all[len(all)-1]; h.Role == "" {
				h.Role = "client"
				if x == 'x' {
					h.State = "absent"
				}
			}
		}
		if got := client.AdviceOnKeepers(all); (got == "") != (word == "") || !strings.Contains(got, word) {
			t.Errorf("%s: %q", hosts, got)
		}
	}
}

// TestUnread: a list that may lack hosts says so at the host that was asked, once.
func TestUnread(t *testing.T) {
	all := []client.HostStatus{{Name: "host1"}, {Name: "host2", Self: true}}
	markIncomplete(all, errors.New("no answer"))
	if all[0].Incomplete != "" || !strings.Contains(all[1].Incomplete, "no answer") {
		t.Errorf("%+v", all)
	}
}
