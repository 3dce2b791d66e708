package bench

import (
	"encoding/json"
	"os"

	"github.com/heddle-network/heddle"
)

// Write stores the report beside its name and renames it into place.
func (r *Report) Write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(path+".new", append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fail("write", path, err)
	}
	return nil
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
		return nil, heddle.Errorf(heddle.BadArgument, "read", path, "it is not a "+reportKind+" of "+apiVersion)
	}
	return &r, nil
}
