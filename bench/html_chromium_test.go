package bench

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// overflow measures the pages in its frames: how wide they are, which elements extend beyond
// them, how many markers of a strip lie on others, and where the opening ends.
const overflow = `<script>
const hidden = e => e && getComputedStyle(e).clipPath != "none";
addEventListener("load", () => {
  const all = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.documentElement, out = [];
    for (const e of page.querySelectorAll("main *, header *")) {
      const box = e.getBoundingClientRect();
      if (box.right > root.clientWidth + 1 && box.width > 0 && !e.closest(".scroll, svg") && !hidden(e.closest("thead"))) out.push(e.tagName + "." + e.className);
    }
    let covered = 0;
    for (const strip of page.querySelectorAll(".verdict svg")) {
      const boxes = [...strip.querySelectorAll("use")].map(u => u.getBoundingClientRect());
      boxes.forEach((a, i) => boxes.slice(0, i).forEach(b => {
        if (Math.abs(a.left + a.right - b.left - b.right) < 20 && Math.abs(a.top + a.bottom - b.top - b.bottom) < 20) covered++;
      }));
    }
    const opening = page.querySelector(".opening");
    all.push([frame.title, root.scrollWidth, frame.clientWidth, page.querySelectorAll("svg").length, out.slice(0, 5).join(" "),
      covered, opening ? Math.round(opening.getBoundingClientRect().bottom) : 0].join("|"));
  }
  document.body.textContent = "WIDTHS " + all.join(";") + " END";
});
</script>`

var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// screen is the height of a telephone's.
const screen = 780

// TestPagesFit lays out the pages in a real browser without a network: no element may extend beyond
// the page, down to the width of a telephone.
func TestPagesFit(t *testing.T) {
	browser := findBrowser(t)
	all := allPages(t)
	frames, n := overflow, 0
	for page, widths := range map[string][]int{"hostile": {320, 400, 900}, "usual": {390, 900, 1600}, "ecs": {400}, "lxc": {400, 900}, "compare-hostile": {400, 900}, "golden": {400}} {
		// Closed parts are laid out as well. The policy holds for the frame's owner.
		text := strings.ReplaceAll(policy.ReplaceAllString(all[page], ""), "<details ", "<details open ")
		for _, width := range widths {
			frames += fmt.Sprintf(`<iframe title="%s" style="border:0;width:%dpx;height:800px" srcdoc="%s"></iframe>`, page, width, html.EscapeString(text))
			n++
		}
	}
	path := filepath.Join(t.TempDir(), "frames.html")
	if err := os.WriteFile(path, []byte("<!DOCTYPE html><meta charset=utf-8><body>"+frames+"</body>"), 0o644); err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)WIDTHS (.*) END`).FindStringSubmatch(browser.run(t, "--dump-dom", "file://"+path))
	if found == nil {
		t.Fatal("the browser laid nothing out")
	}
	measured := strings.Split(found[1], ";")
	if len(measured) != n {
		t.Fatalf("%d pages, %d were laid out", n, len(measured))
	}
	for _, m := range measured {
		f := strings.Split(m, "|") // page, its width, the frame's width, pictures, elements beyond the page, markers on others, end of the opening
		if pictures, err := strconv.Atoi(f[3]); f[1] != f[2] || f[4] != "" || err != nil || pictures < 10 {
			t.Errorf("%s is %s wide in %s, with %s pictures; beyond it: %s", f[0], f[1], f[2], f[3], f[4])
		}
		if f[5] != "0" {
			t.Errorf("%s, %s wide: %s markers lie on others", f[0], f[2], f[5])
		}
		if end, err := strconv.Atoi(f[6]); f[0] == "usual" && (err != nil || end == 0 || end > screen) {
			t.Errorf("%s, %s wide: the answer and its picture end at %s, and the screen at %d", f[0], f[2], f[6], screen)
		}
	}
}

// TestPagePaints: the page as it is, with its policy and without a network.
func TestPagePaints(t *testing.T) {
	browser := findBrowser(t)
	folder := t.TempDir()
	page, picture := filepath.Join(folder, "page.html"), filepath.Join(folder, "page.png")
	if err := WriteFile(page, goldenReport().HTML); err != nil {
		t.Fatal(err)
	}
	browser.run(t, "--window-size=900,1200", "--screenshot="+picture, "file://"+page)
	if info, err := os.Stat(picture); err != nil || info.Size() < 20000 {
		t.Errorf("nothing painted: %v", err)
	}
}

type browser string

func findBrowser(t *testing.T) browser {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return browser(path)
		}
	}
	if os.Geteuid() == 0 {
		t.Fatal("no browser: run make deps")
	}
	t.Skip("no browser, and make deps needs root")
	return ""
}

func (b browser) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, string(b), append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir=" + t.TempDir()}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET // without any network
	}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, tail(said.String()))
	}
	return string(out)
}
