package bench

import (
	"encoding/json"
	"io"
	"os"

	"github.com/heddle-network/heddle"
)

// Write stores the report beside its name and renames it into place.
func (r *Report) Write(path string) error {
	return WriteFile(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(r)
	})
}

// ReadReport reads a report.json.
func ReadReport(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read", path, err, "")
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read", path, err, "")
	}
	if r.APIVersion != apiVersion || r.Kind != reportKind {
		return nil, heddle.Errorf(heddle.BadArgument, "read", path, "", "it is not a "+reportKind+" of "+apiVersion)
	}
	return &r, nil
}
