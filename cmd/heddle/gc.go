package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newGC(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "gc", GroupID: groupHealth, Args: withArgs(),
		Short:   "Remove what belongs to nobody",
		Long:    "gc removes endpoints whose container is gone, or whose attach or detach was cut off;\nbrings back NICs that belong to no endpoint; and removes objects with heddle's mark\nthat no network and no endpoint wants.",
		Example: "  heddle gc",
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer s.showProgress("collecting")()
			removed, err := s.client().GC(cmd.Context(), "", nil)
			if err != nil {
				return err
			}
			return s.emit("RemovalList", listOf(removed), func(w io.Writer) error {
				for _, r := range removed {
					_ = printLine(w, "removed %s\n", r)
				}
				if len(removed) == 0 {
					s.note("nothing to remove")
				}
				return nil
			})
		},
	}
}
