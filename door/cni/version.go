package cni

import (
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
)

// newestVersion is the version of answers to callers whose version is not known.
const newestVersion = "1.1.0"

// versions are the versions of the specification that the door speaks.
var versions = []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"}

func supported(version string) bool { return slices.Contains(versions, version) }

// verbSince is the first version that has a verb.
var verbSince = map[string]string{"ADD": "0.3.1", "CHECK": "0.4.0", "GC": "1.1.0", "STATUS": "1.1.0"}

// checkVersion refuses unsupported versions, and verbs that the version does not have.
// Supported versions can be compared as text.
func (c call) checkVersion(version string) error {
	switch {
	case !supported(version):
		return faultf(badVersion, heddle.CNIVersion, readKey, "cniVersion", fmt.Sprintf("version %q is not supported", heddle.Clip(version)),
			"set cniVersion to one of "+heddle.List(versions))
	case version < verbSince[c.command]:
		return faultf(badVersion, heddle.CNIVersion, readKey, "cniVersion", "version "+version+" has no "+c.command,
			"set cniVersion to "+verbSince[c.command]+" or newer")
	}
	return nil
}
