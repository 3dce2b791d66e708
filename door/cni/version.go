package cni

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
)

// newest is the version answered in when the caller's is not known.
const newest = "1.1.0"

// versions are the versions of the specification that the door speaks.
var versions = []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"}

func supported(version string) bool { return slices.Contains(versions, version) }

// since says which version brought a verb.
var since = map[string]string{"ADD": "0.3.1", "CHECK": "0.4.0", "GC": "1.1.0", "STATUS": "1.1.0"}

// allowedIn refuses versions not spoken, and verbs that the version does not
// have. (The supported versions compare as texts.)
func (c call) allowedIn(version string) error {
	switch {
	case !supported(version):
		return faultf(badVersion, heddle.CNIVersion, readKey, "cniVersion", fmt.Sprintf("version %q is not supported", heddle.Clip(version)),
			fmt.Sprintf("set cniVersion to one of %v", versions))
	case version < since[c.command]:
		return faultf(badVersion, heddle.CNIVersion, readKey, "cniVersion", "version "+version+" has no "+c.command,
			"set cniVersion to "+since[c.command]+" or newer")
	}
	return nil
}
