package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// callTime bounds a call to dockerd. Some calls make dockerd call its driver.
const callTime = 30 * time.Second

// maxReply bounds an answer of dockerd's, in bytes.
const maxReply = 64 << 20

// dockerd is a client of the Docker Engine API. The module that Docker offers reads
// addresses strictly, and refuses some that dockerd 20.10 writes (an IPv6 gateway with
// its prefix length). So one foreign network would make the whole list unreadable.
type dockerd struct {
	http *http.Client
	base string
}

func dial(host string) (*dockerd, error) {
	u, err := url.Parse(host)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read flag", "--docker-host", err,
			"give unix:///var/run/docker.sock, tcp://HOST:PORT, or none")
	}
	t := &http.Transport{MaxIdleConns: 2, IdleConnTimeout: time.Minute}
	d := &dockerd{http: &http.Client{Transport: t}}
	switch {
	case u.Scheme == "unix" && strings.HasPrefix(u.Path, "/"):
		d.base = "http://docker"
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var n net.Dialer
			return n.DialContext(ctx, "unix", u.Path)
		}
	case u.Scheme == "tcp" && u.Host != "":
		d.base = "http://" + u.Host
	default:
		return nil, heddle.Errorf(heddle.BadArgument, "read flag", "--docker-host",
			fmt.Sprintf("%q is not an address of dockerd", host), "give unix:///var/run/docker.sock, tcp://HOST:PORT, or none")
	}
	return d, nil
}

// refusal is an error that dockerd answered with.
type refusal struct {
	status  int
	Message string `json:"message"`
}

func (r *refusal) Error() string { return r.Message }

// call sends a request and decodes the answer into reply, if there is one.
func (d *dockerd) call(ctx context.Context, method, path string, body, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	version, err := d.version(ctx)
	if err != nil {
		return err
	}
	answer, err := d.do(ctx, method, version+path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if reply == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxReply)).Decode(reply)
}

// version asks dockerd for its version of the API, as a path. It is asked each time:
// another dockerd may answer at the address by now.
func (d *dockerd) version(ctx context.Context) (string, error) {
	answer, err := d.do(ctx, "GET", "/_ping", nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<10)) // the connection is used again
	if v := answer.Header.Get("API-Version"); v != "" {
		return "/v" + v, nil
	}
	return "", nil
}

func (d *dockerd) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return nil, err
		}
	}
	q, err := http.NewRequestWithContext(ctx, method, d.base+path, &text)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := d.http.Do(q)
	if err != nil {
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, err
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	r := &refusal{status: answer.StatusCode}
	json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(r)
	if r.Message == "" {
		r.Message = fmt.Sprintf("%s %s: %s", method, path, answer.Status)
	}
	return nil, r
}

// event is an event of dockerd's. Without a type, it is that dockerd answers.
type event struct {
	Type, Action string
	Actor        struct {
		ID         string
		Attributes map[string]string
	}
}

// The types of the events, and the actions that are watched.
const (
	ofNetwork, ofContainer = "network", "container"

	actionCreate, actionDestroy     = "create", "destroy"
	actionConnect, actionDisconnect = "connect", "disconnect"
	actionRename                    = "rename"
)

// watchEvents calls report when dockerd answers, and then with each event of its networks and
// containers, until the connection or the context ends.
func (d *dockerd) watchEvents(ctx context.Context, report func(event)) {
	version, err := d.version(ctx)
	if err != nil {
		return
	}
	answer, err := d.do(ctx, "GET", version+"/events?"+filters(map[string][]string{"type": {ofNetwork, ofContainer},
		"event": {actionCreate, actionDestroy, actionConnect, actionDisconnect, actionRename}}), nil)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	report(event{})
	for events := json.NewDecoder(answer.Body); ; {
		var e event
		if events.Decode(&e) != nil {
			return
		}
		report(e)
	}
}

// filters is the part of a request that says which objects are asked for.
func filters(of map[string][]string) string {
	text, _ := json.Marshal(of) // texts alone
	return url.Values{"filters": {string(text)}}.Encode()
}
