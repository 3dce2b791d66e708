package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newGC(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "gc", GroupID: groupHealth, Args: withArgs(),
		Short:   "Remove what belongs to nobody",
		Long:    "gc removes endpoints whose container is gone, or whose attach or detach was cut off;\nbrings back NICs that belong to no endpoint; and removes objects with heddle's mark\nthat no network and no endpoint wants. The agent by itself removes endpoints of\ncontainers that are proven to be gone, some ten seconds later; gc does it at once.",
		Example: "  heddle gc --dry-run\n  heddle gc",
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer s.showProgress("collecting")()
			done := "removed"
			collect := func() ([]string, error) { return s.client().GC(cmd.Context(), "", nil) }
			if dryRun {
				done = "would remove"
				collect = func() ([]string, error) { return s.client().Garbage(cmd.Context()) }
			}
			removed, err := collect()
			if err != nil {
				return err
			}
			return s.emit("RemovalList", listOf(removed), func(w io.Writer) error {
				for _, r := range removed {
					_ = printLine(w, "%s %s\n", done, r)
				}
				if len(removed) == 0 {
					s.note("nothing to remove")
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be removed, and change nothing")
	return cmd
}
