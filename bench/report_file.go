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
		return nil, heddle.Wrap(heddle.BadArgument, "read report", path, err, "name a report.json, or the folder of a run")
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read report", path, err, "name a report.json, or the folder of a run")
	}
	if r.APIVersion != apiVersion || r.Kind != reportKind {
		return nil, heddle.Errorf(heddle.BadArgument, "read report", path,
			"it is not a "+reportKind+" of "+apiVersion, "name a report.json that this version of heddle made")
	}
	return &r, nil
}
