package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// version is the output document of version.
type version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "version", Args: withArgs(),
		Short:   "Show the program's version",
		Long:    "version shows the version of this program; 'heddle status' has the agent's.",
		Example: "  heddle version\n  heddle version -o json",
		RunE: func(*cobra.Command, []string) error {
			v := version{heddle.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return s.emitDone("Version", v, "heddle %s (%s, %s)", v.Version, v.Go, v.Platform)
		},
	}
}
