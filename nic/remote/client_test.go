package remote

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

const card = `{"token":"x","network":"lan","mac":"0a:00:00:00:00:01","addrs":["192.0.2.7/24"],"mtu":1500,"plugged":true}`

var lan = nic.Order{Token: "x", Network: "lan"}

// against is a client of a service that answers with a text.
func against(t *testing.T, status int, text string) *Client {
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
}

func serving(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	g := goodGrant()
	g.Address, g.Fingerprint = s.Listener.Addr().String(), Fingerprint(s.Certificate().Raw)
	return New(g)
}

// TestPlug: an answer is taken if it is about what was ordered, and plugged.
func TestPlug(t *testing.T) {
	got, err := against(t, 200, card).Plug(context.Background(), lan)
	if err != nil || got.MAC != "0a:00:00:00:00:01" || !got.Plugged {
		t.Error(got, err)
	}
	large := strings.Repeat(" ", maxAnswer-len(card))
	if _, err := against(t, 200, card+large).Plug(context.Background(), lan); err != nil {
		t.Error(err)
	}
	withMAC := lan
	withMAC.MAC = "0a:00:00:00:00:02"
	if _, err := against(t, 200, card).Plug(context.Background(), withMAC); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
		t.Error("another MAC address: ", err)
	}
	for what, text := range map[string]string{
		"larger than may be": card + large + " ",
		"no JSON":            "hello",
		"nothing":            "",
		"null":               "null",
		"cut":                card[:20],
		"two":                card + card,
		"another NIC":        strings.Replace(card, `"x"`, `"y"`, 1),
		"another network":    strings.Replace(card, "lan", "wan", 1),
		"bad MAC":            strings.Replace(card, "0a:", "01:", 1),
		"no MTU":             strings.Replace(card, "1500", "0", 1),
		"an address twice":   strings.Replace(card, `"mtu"`, `"further":[["192.0.2.8/24"],["192.0.2.7/24"]],"mtu"`, 1),
		"two of a family":    strings.Replace(card, `"mtu"`, `"further":[["192.0.2.8/24","192.0.2.9/24"]],"mtu"`, 1),
		"not plugged":        strings.Replace(card, "true", "false", 1),
	} {
		got, err := against(t, 200, text).Plug(context.Background(), lan)
		if !errors.Is(err, heddle.NICServiceDown.Sentinel()) || got.Token != "" {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// TestOrderChecked: a malformed order is not sent.
func TestOrderChecked(t *testing.T) {
	c := serving(t, func(http.ResponseWriter, *http.Request) { t.Error("it is sent") })
	if _, err := c.Plug(context.Background(), nic.Order{Token: "X", Network: "lan"}); !errors.Is(err, heddle.BadID.Sentinel()) {
		t.Error(err)
	}
	if err := c.Unplug(context.Background(), "../offer"); !errors.Is(err, heddle.BadID.Sentinel()) {
		t.Error(err)
	}
}

// TestLongestList: as many NICs as a machine may have, with as many addresses as they may have, are an answer.
func TestLongestList(t *testing.T) {
	var all []nic.Card
	for i := range 128 {
		c := nic.Card{Token: fmt.Sprintf("%064d", i), Network: "lan", MAC: "0a:00:00:00:00:01", MTU: 1500, Plugged: true}
		for j := range heddle.MaxFurther {
			c.Further = append(c.Further, []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(100 + i), byte(j)}), 16),
				netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 0xff, 2: 0xff, 3: 0xff, 4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: byte(i + 16), 15: byte(j)}), 64)})
		}
		all = append(all, c)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := against(t, 200, string(text)).List(context.Background()); err != nil || len(got) != len(all) {
		t.Errorf("%d of %d bytes: %v", len(got), len(text), err)
	}
}

// TestLists: lists and offers are judged, too.
func TestLists(t *testing.T) {
	ctx := context.Background()
	all, err := against(t, 200, "["+card+","+strings.Replace(card, `"x"`, `"y"`, 1)+"]").List(ctx)
	if err != nil || len(all) != 2 {
		t.Error(all, err)
	}
	for _, text := range []string{"{}", "[" + card + "," + card + "]", "[{}]", "[null]"} {
		if _, err := against(t, 200, text).List(ctx); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
			t.Error(text, err)
		}
	}
	const offer = `{"machine":"web.1","networks":["lan"],"slots":4,"free":3}`
	if o, err := against(t, 200, offer).Describe(ctx); err != nil || o.Free != 3 || o.Networks[0] != "lan" {
		t.Error(o, err)
	}
	const more = `{"machine":"web.1","networks":["lan"],"slots":4,"free":3,"permitted":[{"from":"web.2","token":"y","network":"lan","mac":"0a:00:00:00:00:01","addrs":["192.0.2.7/24"]}]}`
	if o, err := against(t, 200, more).Describe(ctx); err != nil || len(o.Permitted) != 1 {
		t.Error(o, err)
	}
	for _, change := range [][2]string{{"web.2", "../web"}, {`"y"`, `"Y"`}, {`:"lan"`, `:"l a n"`}, {"0a:", "01:"}, {`"192.0.2.7/24"`, `"192.0.2.7/24","192.0.2.8/24"`}} {
		if _, err := against(t, 200, strings.Replace(more, change[0], change[1], 1)).Describe(ctx); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
			t.Error(change, err)
		}
	}
	for _, change := range [][2]string{{"web.1", "web.2"}, {"lan", "l a n"}, {":3", ":5"}, {":3", ":-1"}} {
		if _, err := against(t, 200, strings.Replace(offer, change[0], change[1], 1)).Describe(ctx); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
			t.Error(change, err)
		}
	}
}

// TestErrorsTaken: an error of the service keeps its code. Its kind is ours, and it cannot hide or be long.
func TestErrorsTaken(t *testing.T) {
	c := against(t, 409, `{"id":"HDL-8020","exit":0,"operation":"plug\u001b[2J","object":"x","cause":"`+strings.Repeat("c", 5000)+`","remedy":"do"}`)
	_, err := c.Plug(context.Background(), lan)
	var e *heddle.Error
	if !errors.As(err, &e) || e.Code != heddle.NICNotGranted || e.Kind != heddle.Conflict || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 2000 {
		t.Errorf("%+v", e)
	}
	for what, c := range map[string]*Client{
		"code of another version": against(t, 409, `{"id":"HDL-9999","exit":3,"operation":"plug","cause":"x"}`),
		"no error":                against(t, 500, `{}`),
		"page":                    against(t, 502, `<html>`),
		"redirect": serving(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/else" {
				t.Error("the client follows a redirect")
			}
			http.Redirect(w, r, "/else", http.StatusTemporaryRedirect)
		}),
		"no content": against(t, 204, ""),
	} {
		if err := c.Unplug(context.Background(), "x"); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestNoService: what does not answer, does not speak TLS or answers too late is told apart.
func TestNoService(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, "220 hello\r\n")
			c.Close()
		}
	}()
	g := goodGrant()
	g.Address = l.Addr().String()
	if err := New(g).Unplug(context.Background(), "x"); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
		t.Error(err)
	}
	stop := make(chan struct{})
	slow := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	defer close(stop)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err = slow.Unplug(ctx, "x")
	if !errors.Is(err, heddle.Waited.Sentinel()) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	half := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "{")
	})
	if err := half.Unplug(context.Background(), "x"); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
		t.Error(err)
	}
}

// TestEndless: an answer without an end is not read for long.
func TestEndless(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.Unplug(ctx, "x"); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
		t.Error(err)
	}
}

// TestOldTLS: a service with the right certificate that does not speak TLS 1.3 gets no secret.
func TestOldTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it is asked") }))
	s.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	s.StartTLS()
	defer s.Close()
	g := goodGrant()
	g.Address, g.Fingerprint = s.Listener.Addr().String(), Fingerprint(s.Certificate().Raw)
	if err := New(g).Unplug(context.Background(), "x"); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
		t.Error(err)
	}
}

// TestProxy: the machine's proxy gets no request.
func TestProxy(t *testing.T) {
	if against(t, 200, card).http.Transport.(*http.Transport).Proxy != nil {
		t.Error("there is a proxy")
	}
}

// TestWatch: an answer to a watch is taken if it names a state.
func TestWatch(t *testing.T) {
	asked := ""
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.RequestURI()
		fmt.Fprint(w, `{"now":"0a1b"}`)
	})
	if now, err := c.Watch(context.Background(), "ff&x"); now != "0a1b" || err != nil || asked != "GET /v1/watch?since=ff%26x" {
		t.Errorf("%q, %v, asked %s", now, err, asked)
	}
	for _, text := range []string{"{}", `{"now":""}`, `{"now":"x y"}`, `{"now":"` + strings.Repeat("0", 65) + `"}`, "[]"} {
		if now, err := against(t, 200, text).Watch(context.Background(), ""); now != "" || !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
			t.Errorf("%s: %q, %v", text, now, err)
		}
	}
}

// TestLimit: an answer about limits is taken if it is about what was asked for, and no more passes.
func TestLimit(t *testing.T) {
	asked := heddle.RateLimits{In: heddle.RateLimit{Rate: 1e6}}
	about := func(text string) string { return strings.TrimSuffix(card, "}") + "," + text + "}" }
	const fine = `"asked":{"in":{"rate":1000000,"burst":0}},"limits":{"in":{"rate":1000000,"burst":12144}}`
	if c, err := against(t, 200, about(fine)).Limit(context.Background(), "x", asked); err != nil || c.Limits.In.Rate != 1e6 {
		t.Error(c, err)
	}
	for _, text := range []string{strings.Replace(fine, "1000000", "2000000", 1), strings.Replace(fine, `"rate":1000000,"burst":12144`, `"rate":2000000,"burst":12144`, 1),
		strings.Replace(fine, `"limits":{"in"`, `"limits":{"out"`, 1), `"mtu":0,` + fine} {
		if _, err := against(t, 200, about(text)).Limit(context.Background(), "x", asked); !errors.Is(err, heddle.NICServiceDown.Sentinel()) {
			t.Error(text, err)
		}
	}
}
