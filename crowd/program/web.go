package program

import (
	"io"
	"strings"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Where a program that speaks HTTP has its one file.
const (
	webFolder  = "/srv"
	webContent = "/content" // in that folder, and as a path
)

// webRefusal is what it says to who has a wrong password.
var webRefusal = strings.Repeat("no", scenario.Refusal/2)

// webFile is that file.
func (s Setting) webFile() container.File {
	return container.File{Name: webFolder + webContent, Changed: protocol.Changed(), Write: func(w io.Writer) error {
		_, err := io.CopyN(w, draw.NewStream(s.Seed, "contents", s.Service), protocol.Content)
		return err
	}}
}
