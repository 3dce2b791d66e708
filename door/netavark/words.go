package netavark

import (
	"errors"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// podmanWords are flags of 'heddle network create' that a remedy names, and how they are written in
// 'podman network create' where that differs.
var podmanWords = []struct {
	flag   *lazyregexp.Regexp
	podman string
}{
	{lazyregexp.New(`--mode\b`), "--opt mode=MODE"},
	{lazyregexp.New(`--parent\b`), "--opt parent=NAME"},
	{lazyregexp.New(`--mtu\b`), "--opt mtu=BYTES"},
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
