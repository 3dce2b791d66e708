package mode_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPictures draws the ways of each mode's packets, from the plans of its first variant.
func TestPictures(t *testing.T) {
	drawn := map[string]bool{}
	for _, v := range variants() {
		name := v.mode.Name()
		if drawn[name] {
			continue
		}
		drawn[name] = true
		ways := v.ways(v.plans(t))
		picture := draw("The ways of a packet in mode "+name, ways)
		if err := xml.Unmarshal([]byte(picture), new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compare(t, filepath.Join("..", "docs", "modes", name+".svg"), picture)
		page, err := os.ReadFile(filepath.Join(name, "page.md"))
		if err != nil || !strings.Contains(string(page), "]("+name+".svg)") {
			t.Errorf("the page of %s does not show its picture (%v)", name, err)
		}
	}
	if len(drawn) < 7 {
		t.Errorf("%d pictures", len(drawn))
	}
}

// The measures of a picture, in pixels.
const (
	boxWide, boxHigh, gap = 138, 44, 30
	edge, titleHigh, next = 12, 20, 14
)

var colours = map[place][2]string{ // paper and edge
	inContainer: {"#e3f4ec", "#00795a"}, onHost: {"#eceef1", "#5c636e"}, fastPath: {"#fdebd8", "#b25e00"}, outside: {"#e3f1fa", "#00507f"},
}

// draw writes ways as SVG, one below the other.
func draw(title string, ways []way) string {
	most := 0
	var told []string
	for _, w := range ways {
		most = max(most, len(w.hops))
		told = append(told, w.told())
	}
	wide := 2*edge + most*boxWide + (most-1)*gap
	high := 2*edge + len(ways)*(titleHigh+boxHigh+next) - next
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="sans-serif" fill="#1b1e23">`+"\n", wide, high, wide, high)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", title, strings.Join(told, " "), wide, high)
	for i, w := range ways {
		w.draw(&b, edge+i*(titleHigh+boxHigh+next))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (w way) draw(b *strings.Builder, top int) {
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13" font-weight="bold">%s</text>`+"\n", edge, top+13, w.to)
	top += titleHigh
	for i, h := range w.hops {
		x := edge + i*(boxWide+gap)
		if i > 0 {
			end := x - 2
			fmt.Fprintf(b, `<path d="M%d,%dH%dm-7,-4l7,4l-7,4" fill="none" stroke="#1b1e23" stroke-width="1.5"/>`+"\n", x-gap+2, top+boxHigh/2, end)
		}
		c := colours[h.place]
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="%s" stroke="%s"/>`+"\n", x, top, boxWide, boxHigh, c[0], c[1])
		if h.name == "" {
			fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13" text-anchor="middle">%s</text>`+"\n", x+boxWide/2, top+26, h.what)
			continue
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13" text-anchor="middle">%s</text>`+"\n", x+boxWide/2, top+18, h.what)
		fmt.Fprintf(b, `<text x="%d" y="%d" font-size="11" text-anchor="middle" fill="#5c636e">%s</text>`+"\n", x+boxWide/2, top+35, h.name)
	}
}

// told is the way in words, for those who do not see it.
func (w way) told() string {
	var hops []string
	for _, h := range w.hops {
		hops = append(hops, strings.TrimSpace(h.what+" "+h.name))
	}
	return w.to + ": " + strings.Join(hops, ", ") + "."
}
