package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// TestPagesNeedNothing: whatever the names, notes and errors hold, a page has
// no script, fetches nothing, and every picture says what it shows.
func TestPagesNeedNothing(t *testing.T) {
	for name, text := range allPages(t) {
		root, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := &pageCheck{t: t, name: name, ids: map[string]bool{}}
		for n := range root.Descendants() {
			if n.Type == html.ElementNode {
				p.element(n)
			}
		}
		for _, link := range p.links {
			if !p.ids[link] {
				t.Errorf("%s: a link to #%s, which is not there", name, link)
			}
		}
		if p.pictures < 5 {
			t.Errorf("%s: %d pictures", name, p.pictures)
		}
		if strings.Contains(name, "hostile") && !strings.Contains(text, "&lt;script src=") {
			t.Errorf("%s: the hostile words are missing", name)
		}
	}
}

type pageCheck struct {
	t        *testing.T
	name     string
	ids      map[string]bool
	links    []string
	pictures int
}

var harmless = []string{
	"html", "head", "meta", "title", "style", "body", "header", "main", "section", "article", "div", "p", "h1", "h2", "h3", "b", "i", "span", "a", "ul", "li",
	"dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary", "figure", "figcaption",
	"svg", "defs", "g", "path", "line", "rect", "text", "use", "desc",
}

func (p *pageCheck) element(n *html.Node) {
	p.t.Helper()
	switch {
	case n.Data == "script":
		if value(n, "type") != "application/json" {
			p.t.Errorf("%s: a script", p.name)
		}
	case n.Data == "style":
		for _, bad := range []string{"url(", "@import", "<"} {
			if strings.Contains(n.FirstChild.Data, bad) {
				p.t.Errorf("%s: the style sheet has %s", p.name, bad)
			}
		}
	case n.Data == "svg":
		p.picture(n)
	case !slices.Contains(harmless, n.Data):
		p.t.Errorf("%s: an element %s", p.name, n.Data)
	}
	for _, a := range n.Attr {
		p.attribute(n, a)
	}
}

func (p *pageCheck) attribute(n *html.Node, a html.Attribute) {
	switch {
	case a.Key == "id":
		if p.ids[a.Val] {
			p.t.Errorf("%s: the id %s twice", p.name, a.Val)
		}
		p.ids[a.Val] = true
	case a.Key == "href":
		if to, within := strings.CutPrefix(a.Val, "#"); within {
			p.links = append(p.links, to)
		} else if !strings.HasPrefix(a.Val, "data:application/gzip;base64,") || value(n, "download") == "" {
			p.t.Errorf("%s: a link to %s", p.name, a.Val)
		}
	case a.Key == "src" || a.Key == "srcset" || a.Key == "action" || strings.HasPrefix(a.Key, "on"):
		p.t.Errorf("%s: %s has %s=%s", p.name, n.Data, a.Key, a.Val)
	case a.Key == "style":
		width, ok := strings.CutPrefix(strings.ReplaceAll(a.Val, " ", ""), "width:")
		if v, err := strconv.ParseFloat(strings.TrimSuffix(width, "%"), 64); !ok || err != nil || v < 0 || v > 100 {
			p.t.Errorf("%s: a style %s", p.name, a.Val)
		}
	case n.Namespace == "svg" && strings.HasSuffix(a.Val, "%"):
		if v, err := strconv.ParseFloat(strings.TrimSuffix(a.Val, "%"), 64); err != nil || v < 0 || v > 100.01 {
			p.t.Errorf("%s: %s at %s=%s", p.name, n.Data, a.Key, a.Val)
		}
	}
}

// picture checks a picture: it is hidden from screen readers, or has a title first.
func (p *pageCheck) picture(n *html.Node) {
	if value(n, "aria-hidden") == "true" {
		return
	}
	p.pictures++
	if first := n.FirstChild; value(n, "role") != "img" || first == nil || first.Data != "title" || first.FirstChild == nil {
		p.t.Errorf("%s: a picture without a title", p.name)
	}
}

func value(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// TestNothingHidden: no file of a run, and no line for people, has control characters for a
// terminal or for the direction of text. Tools such as sockperf colour their output.
func TestNothingHidden(t *testing.T) {
	r := invented()["hostile"]
	folder := t.TempDir()
	if err := r.WriteAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(folder, "compare.html"), Compare(r, r).HTML); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(folder, testMatrix(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if err := j.write(r.Samples[len(r.Samples)-1]); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"progress": headline(testMatrix(), Sample{Error: hostile})}
	all, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(all) < 6 {
		t.Fatal(all, err)
	}
	for _, path := range all {
		files[filepath.Base(path)] = string(must(os.ReadFile(path)))
	}
	for name, text := range files {
		if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); at >= 0 {
			t.Errorf("%s: %q is hidden in it", name, text[at:min(at+20, len(text))])
		}
	}
	if back, err := ReadReport(filepath.Join(folder, "report.json")); err != nil || cmp.Diff(reread(t, string(must(json.Marshal(r)))), *back) != "" {
		t.Errorf("the report says something else: %v", err)
	}
}

// TestLinesOfOthers: the text of a tool or a device stays on its own line.
func TestLinesOfOthers(t *testing.T) {
	r := stress{modes: []string{"host", "bridge"}, wires: []string{""}, sizes: []int{64}, pairs: []int{1}, rounds: 2, broken: true, noted: true}.report()
	var shown bytes.Buffer
	if err := errors.Join(r.Text(&shown), Compare(r, r).Text(&shown)); err != nil {
		t.Fatal(err)
	}
	if text := shown.String(); strings.Contains(text, "\nhost9") || !strings.Contains(text, `\x7f\nhost9`) {
		t.Error(text)
	}
}

// TestPageHoldsTheData: the report that is read back from the page, from the element and from the
// link, equals the original.
func TestPageHoldsTheData(t *testing.T) {
	for _, name := range []string{"hostile", "usual", "large"} {
		r, page := invented()[name], allPages(t)[name]
		want := string(must(json.Marshal(r)))
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for n := range root.Descendants() {
			if n.Data == "script" {
				found["element"] = n.FirstChild.Data
			}
			if file := value(n, "download"); file != "" {
				found[file] = unpack(t, value(n, "href"))
			}
		}
		if found["report.json.gz"] != want {
			t.Errorf("%s: the link holds something else", name)
		}
		if plain := len(want) <= rawAtMost; plain != (found["element"] != "") {
			t.Errorf("%s: %d bytes, and the element is there: %v", name, len(want), !plain)
		} else if plain && cmp.Diff(reread(t, want), reread(t, found["element"])) != "" {
			t.Errorf("%s: the element holds something else", name)
		}
		if lines := strings.Count(found["samples.csv.gz"], "\n"); lines < len(r.Samples) {
			t.Errorf("%s: %d lines of CSV", name, lines)
		}
	}
}

func reread(t *testing.T, text string) (r Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func unpack(t *testing.T, url string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:application/gzip;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageSays checks that the page contains what a reader looks for.
func TestPageSays(t *testing.T) {
	all := allPages(t)
	for name, words := range map[string][]string{
		"usual":     {"Some CPU 9999", "congestion control", "p &lt; 0.05 after Holm", "µs/packet", "yardstick", "MTU 1500", "heddle bench --modes host,bridge", "Steal", ">routed"},
		"golden":    {"3 rounds are too few", "unstable", "Connection refused", "Not complete"},
		"one-round": {"1 round: too few", "ahead"},
		"all-fail":  {"nothing to compare", "failed 2×"},
		"no-host":   {"There is no bridge in this run", "nothing to compare"},
		"lxc":       {"495 to 499", "380 to 489", "throughput restated", "doi:10.4236/jcc.2019.710013", "36 of 48 were run here", "ours is taken with one pair only", "Absolute figures are bound to the hardware"},
		"ecs":       {"not like for like", "direct ÷ bridge", "1.59", "3 of 8 were run here"},
		"ladder":    {"not in this run", "routed ÷ host", "1.10", "5 of 11", "µs/request"},
		"large":     {"wire segmented", "two hosts, wire 10 Gbit/s", "standing by size", "too long to repeat"},
	} {
		for _, w := range words {
			if !strings.Contains(strings.ToLower(all[name]), strings.ToLower(w)) {
				t.Errorf("%s: no %q", name, w)
			}
		}
	}
}
