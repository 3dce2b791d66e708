package netavark

import (
	"errors"
	"regexp"
	"strings"

	"github.com/heddle-network/heddle"
)

// podmanWords are flags of 'heddle network create' that a remedy names, and how they are written in
// 'podman network create' where that differs.
var podmanWords = []struct {
	flag   *regexp.Regexp
	podman string
}{
	{regexp.MustCompile(`--mode\b`), "--opt mode=MODE"},
	{regexp.MustCompile(`--parent\b`), "--opt parent=NAME"},
	{regexp.MustCompile(`--mtu\b`), "--opt mtu=BYTES"},
}

// inPodmanWords is an error as Podman shows it: one text, with what to do and the error's code.
func inPodmanWords(err error) string {
	var known *heddle.Error
	if !errors.As(err, &known) {
		return heddle.Visible(err.Error(), true)
	}
	e := *known
	if x, ok := heddle.Explain(e.Code); ok && e.Remedy == "" {
		e.Remedy = x.Remedy
	}
	for _, w := range podmanWords {
		if strings.Contains(e.Remedy, "heddle network create") {
			break // it is a command of ours
		}
		if at := w.flag.FindStringIndex(e.Remedy); at != nil {
			e.Remedy = e.Remedy[:at[1]] + " (podman: " + w.podman + ")" + e.Remedy[at[1]:]
		}
	}
	return heddle.Visible(e.Error(), true)
}
