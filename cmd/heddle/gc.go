package main

import (
	"io"

	"github.com/spf13/cobra"
)

func newGC(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "gc", GroupID: groupHealth, Args: takes(),
		Short:   "Remove what belongs to nobody",
		Long:    "gc removes endpoints whose container is gone, and objects with heddle's mark that\nno network and no endpoint wants. It touches nothing without the mark.",
		Example: "  heddle gc",
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer s.working("collecting")()
			removed, err := s.client().GC(cmd.Context(), "", nil)
			if err != nil {
				return err
			}
			return s.emit("RemovalList", listOf(removed), func(w io.Writer) error {
				for _, r := range removed {
					_ = say(w, "removed %s\n", r)
				}
				if len(removed) == 0 {
					s.note("nothing to remove")
				}
				return nil
			})
		},
	}
}
