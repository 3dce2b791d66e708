package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/ghosts"
	"github.com/heddle-network/heddle/crowd/scenario"
)

func newCrowdImport(s *session) *cobra.Command {
	users := 20
	cmd := &cobra.Command{
		Use: "import TIMELINE...", Args: withArgs("TIMELINE..."),
		Short: "Make a scenario from timelines of GHOSTS",
		Long: `import prints a scenario that does what timelines of GHOSTS say (timeline.json of its client). It can be
checked, planned and changed. Each timeline becomes a persona, and all have the same share. Each handler
becomes a behaviour: browsers, Curl, Outlook, Ssh, Ftp, Sftp, Print, Pidgin. Other handlers send nothing
that heddle knows. The command names what it leaves out.

Delays are kept. Names of hosts and files are not: people go to the crowd's services. Timelines have no
sizes, so sizes are those of the built-in behaviours. A session is one pass through the events of a
handler. Sessions come by chance, while the persona is active: of a handler that loops as often as it
passes, of others once in a time as long as the handler's hours.`,
		Example: "  heddle crowd import timeline.json > people.yaml\n  heddle crowd import --users 200 clerk.json admin.json > office.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if users < 1 || users > scenario.MaxUsers {
				return heddle.Errorf(heddle.BadArgument, "read flag", "--users", fmt.Sprintf("%d is none of 1 to %d", users, scenario.MaxUsers), "give another number")
			}
			var files []ghosts.File
			for _, name := range args {
				text, err := readTimeline(name)
				if err != nil {
					return heddle.Wrap(heddle.BadArgument, "read timeline", name, err, "name a readable file")
				}
				files = append(files, ghosts.File{Name: name, Text: text})
			}
			made, err := ghosts.Import(files, users)
			if err != nil {
				return err
			}
			for _, what := range made.LeftOut {
				s.note("left out: %s", what)
			}
			return s.emit("CrowdImport", crowdImport{string(made.Text), append([]string{}, made.LeftOut...)}, func(w io.Writer) error {
				_, err := w.Write(made.Text)
				return err
			})
		},
	}
	cmd.Flags().IntVar(&users, "users", users, "number of users")
	return cmd
}

// crowdImport is the output document of crowd import.
type crowdImport struct {
	Scenario string   `json:"scenario"`
	LeftOut  []string `json:"leftOut"`
}

// largestTimeline is the size of the largest timeline that is read, in bytes. The parser of comments calls itself for each level of
// nesting, so a much larger one could fill the stack.
const largestTimeline = 256 << 10

func readTimeline(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largestTimeline+1))
	if err == nil && len(text) > largestTimeline {
		err = fmt.Errorf("it is larger than %d bytes", largestTimeline)
	}
	return text, err
}
