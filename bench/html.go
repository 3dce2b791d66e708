package bench

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed html
var htmlFiles embed.FS

// page is what the template shows.
type page struct {
	*view
	Kind      string
	CSS       template.CSS
	Symbols   template.HTML
	Legend    []legend
	Facts     []fact
	Paths     []fact
	WireNotes []fact
	Opening   opening
	Glance    []glanceRow
	Matrix    []matrixTable
	Sections  []section
	Published *publishedPage
	Notes     []fact
	Unstable  []fact
	Failed    []fact
	Tests     []string
	Figures   string
	Downloads []download
	Raw       template.JS
	RawSize   string
	HasBridge bool
	Busy      bool
}

type legend struct {
	Mode  string
	Index int
}

func (v *view) legend() []legend {
	var all []legend
	for i, m := range v.modes {
		all = append(all, legend{m, i % shapes})
	}
	return all
}

// download is a link that contains its file.
type download struct {
	Name, Size string
	URL        template.URL
}

// rawAtMost is the largest report that the page contains as plain JSON. A larger one is only in
// the compressed download.
const rawAtMost = 1 << 20

// HTML writes the report as one page without other files, network or JavaScript.
func (r *Report) HTML(w io.Writer) error {
	v := newView(r)
	p := page{
		view: v, Kind: reportKind, CSS: css(), Symbols: symbols(), Facts: v.facts(), Opening: v.opening(), Glance: v.glance(), Matrix: v.matrix(),
		Sections: v.sections(), Tests: v.testWords(), Figures: v.extent(), Busy: r.Environment.Busy(), Published: v.published(),
		Legend: v.legend(), HasBridge: v.index(Reference) >= 0, Paths: v.paths(), WireNotes: v.wireNotes(),
	}
	p.Notes, p.Unstable, p.Failed = v.columnNotes(), v.unstable(), v.failedRounds()
	if err := p.attach(r); err != nil {
		return err
	}
	return execute(w, "report.tmpl", p)
}

func execute(w io.Writer, name string, data any) error {
	t, err := template.New(name).ParseFS(htmlFiles, "html/*.tmpl")
	if err != nil {
		return fail("read", name, err)
	}
	if err := t.Execute(w, data); err != nil {
		return fail("write", name, err)
	}
	return nil
}

func css() template.CSS {
	text, err := htmlFiles.ReadFile("html/report.css")
	return template.CSS(must(text, err))
}

// symbols returns the modes' shapes. No two modes have the same shape and colour.
func symbols() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg width="0" height="0" aria-hidden="true" class="defs"><defs>`)
	for i, d := range []string{
		"M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z", "M-4.5,-4.5h9v9h-9z", "M0,-6.2L6.2,0L0,6.2L-6.2,0z", "M0,-6L5.8,4.4H-5.8z",
		"M0,6L5.8,-4.4H-5.8z", "M-2,-5.5h4v3.5h3.5v4h-3.5v3.5h-4v-3.5h-3.5v-4h3.5z", "M0,-6.5L1.9,-2L6.3,-1.8L2.9,1.3L4,6L0,3.4L-4,6L-2.9,1.3L-6.3,-1.8L-1.9,-2z",
		"M-3,-5.5h6L6,0L3,5.5h-6L-6,0z",
	} {
		fmt.Fprintf(&b, `<path id="s%d" d="%s"/>`, i, d)
	}
	b.WriteString("</defs></svg>")
	return template.HTML(b.String())
}

// attach puts the raw data into the page.
func (p *page) attach(r *Report) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fail("write", "report.html", err)
	}
	if len(raw) <= rawAtMost {
		p.Raw = template.JS(raw) // Marshal has escaped <, > and &
	}
	p.RawSize = byteText(len(raw))
	var samples bytes.Buffer
	if err := r.CSV(&samples); err != nil {
		return err
	}
	p.Downloads = []download{embedFile("report.json.gz", raw), embedFile("samples.csv.gz", samples.Bytes())}
	return nil
}

// embedFile returns a link that contains the file.
func embedFile(name string, content []byte) download {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write(content) // into memory: cannot fail
	_ = z.Close()
	url := "data:application/gzip;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
	return download{name, byteText(b.Len()), template.URL(url)}
}

func byteText(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
