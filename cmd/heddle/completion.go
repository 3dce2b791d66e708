package main

import (
	"github.com/spf13/cobra"
)

func newCompletion(s *session) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use: "completion bash|zsh|fish", Args: oneOf("SHELL", shells), ValidArgs: shells,
		Short: "Print the completion script of a shell",
		Long: `completion prints a script that lets the shell complete commands, flags, and the
names of networks, endpoints, modes and error ids. In bash, for one session:

  source <(heddle completion bash)`,
		Example: "  heddle completion bash > heddle.bash\n  heddle completion zsh > _heddle\n  heddle completion fish > heddle.fish",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.stdout, true)
			case "zsh":
				return root.GenZshCompletion(s.stdout)
			default:
				return root.GenFishCompletion(s.stdout, true)
			}
		},
	}
}
