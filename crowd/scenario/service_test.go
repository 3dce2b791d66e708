package scenario_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestServices: what a scenario leaves out of a service is as heddle has it.
func TestServices(t *testing.T) {
	type service struct {
		sites, between scenario.Count
		zipf           scenario.Exponent
	}
	for text, want := range map[string]service{
		"web: {}":                    {sites: 200, zipf: 1},
		"web: {zipf: 0.8}":           {sites: 200, zipf: 0.8},
		"web: {zipf: 0}":             {sites: 200},
		"web: {sites: 3}":            {sites: 3, zipf: 1},
		"web: {between: 5}":          {between: 5},
		"web: {between: 0}":          {sites: 200, zipf: 1},
		"voice: {}":                  {between: 16},
		"voice: {between: 4}":        {between: 4},
		"voice: {sites: 7}":          {sites: 7},
		"voice: {sites: 7, zipf: 1}": {sites: 7, zipf: 1},
		"mail: {}":                   {sites: 1},
	} {
		s, err := scenario.Parse([]byte(strings.Replace(good, "personas:", "services: {"+text+"}\npersonas:", 1)))
		name, _, _ := strings.Cut(text, ":")
		if got := s.Services[name]; err != nil || (service{got.Sites, got.Between, got.Zipf}) != want {
			t.Errorf("%s: %+v, %v; expected %+v", text, got, err, want)
		}
	}
}

// TestServers: a service is by the program that is named, and nothing else of it changes.
func TestServers(t *testing.T) {
	for text, want := range map[string]scenario.Server{
		"web: {by: nginx}": {By: "nginx"}, "web: {by: nginx, tls: true}": {By: "nginx", TLS: true}, "web: {by: nginx, tls: false}": {By: "nginx"},
		"web: {tls: false}": {}, "files: {by: nginx}": {By: "nginx"}, "print: {by: redis, tls: true}": {By: "redis", TLS: true},
		"shell: {by: openssh, tls: false}": {By: "openssh"}, "mail: {by: dovecot, tls: true}": {By: "dovecot", TLS: true},
	} {
		s, err := scenario.Parse([]byte(strings.Replace(good, "personas:", "services: {"+text+"}\npersonas:", 1)))
		name, _, _ := strings.Cut(text, ":")
		if got := s.Services[name]; err != nil || got.Server != want {
			t.Errorf("%s: %+v, %v; expected %+v", text, got, err, want)
		}
		if web := s.Services["web"]; web.Sites != 200 || web.Zipf != 1 {
			t.Errorf("%s: %+v", text, web)
		}
	}
}

// TestBodies: over HTTP/2 no request is larger than a head.
func TestBodies(t *testing.T) {
	const text = `
crowd: senders
users: 3
clock: {start: "Mon 10:00", length: 1m}
services: {web: {by: nginx, tls: true, http: 2}, files: {by: nginx, tls: true}}
personas: {one: {share: 100%, does: {browse: 1/h, transfer: 1/h, post: 1/h}}}
behaviours: {post: {start: send, states: {send: {do: web.page, sends: SIZE, expect: 1s, next: {end: 1}}}}}
`
	for size, want := range map[string]string{
		"4KiB": "", "{exponential: 1KB, cap: 4KiB}": "", "{exponential: 1KB, max: 4KiB}": "", "{exponential: 1KB, max: 4KiB, per-user: 1}": "",
		"5KB": "line 7, behaviours.post.states.send.sends: over HTTP/2 a request has 4KiB at most", "{exponential: 10B}": "sends: over HTTP/2",
	} {
		if _, err := scenario.Parse([]byte(strings.Replace(text, "SIZE", size, 1))); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %s", size, err, want)
		}
	}
	uploads := strings.NewReplacer("SIZE", "1KB", "files: {by: nginx, tls: true}", "files: {by: nginx, tls: true, http: 2}").Replace(text)
	if _, err := scenario.Parse([]byte(uploads)); err == nil || !strings.Contains(err.Error(), "services.files.http: behaviour transfer sends more") {
		t.Errorf("%v", err)
	}
}

// TestMail: what a program for mail cannot be true to is refused, and the behaviours that are built in are not.
func TestMail(t *testing.T) {
	const text = `
crowd: writers
users: 3
clock: {start: "Mon 10:00", length: 1m}
services: {mail: {by: dovecot}}
personas: {one: {share: 100%, does: {mail: 1/h, post: 1/h}}}
behaviours: {post: {start: a, states: {a: {do: mail.STATE, expect: 1s, next: {end: 1}}}}}
`
	for state, want := range map[string]string{
		"send, sends: 16GiB, receives: 4KiB": "", "fetch, sends: 4KiB, receives: 16GiB, keep: true": "", "check, connections: 0": "",
		"fetch, sends: 5KB":                     "line 7, behaviours.post.states.a.sends: by dovecot, a request has 4KiB at most, but for mail.send; change it, or take by out",
		"send, receives: 5KB":                   "states.a.receives: by dovecot, an answer to mail.send has 4KiB at most",
		"send, more: {count: 2, receives: 5KB}": "states.a.receives: by dovecot, an answer to mail.send has 4KiB at most",
		"send, connections: 0":                  "states.a.connections: by dovecot, mail is sent over a connection of its own",
		"send, keep: true":                      "states.a.keep: by dovecot, no other step can use a connection of mail.send",
	} {
		with := strings.Replace(text, "STATE", state, 1)
		if _, err := scenario.Parse([]byte(with)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %s", state, err, want)
		}
		if _, err := scenario.Parse([]byte(strings.Replace(with, "by: dovecot", "sites: 1", 1))); err != nil {
			t.Errorf("built in, %s: %v", state, err)
		}
	}
}
