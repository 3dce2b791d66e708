package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heddle-network/heddle"
)

// attachFrom attaches the endpoints of a list, which is read and checked before the first one is attached.
func (s *session) attachFrom(cmd *cobra.Command, network, file string) error {
	if beside := othersGiven(cmd); len(beside) > 0 {
		return heddle.Errorf(heddle.BadArgument, "attach endpoints from", file, strings.Join(beside, " and ")+" given beside --from",
			"give each endpoint's flags in its line of the file; a dry run shows one endpoint, without --from")
	}
	all, err := s.readEndpoints(network, file)
	if err != nil {
		return err
	}
	defer s.showProgress("attaching " + heddle.Count(len(all), "endpoint"))()
	var results []heddle.AttachResult
	refused := s.onNetwork(cmd.Context(), network, toChange, func(name string) (err error) {
		results, err = s.attachAll(cmd.Context(), name, all)
		return err
	})
	if refused != nil && len(results) == 0 {
		return refused
	}
	return errors.Join(s.emitResults(results), s.failureOf(file, len(all), results, refused))
}

// linesAtOnce is how many endpoints of a list one call asks for, and portsAtOnce how many ports at most, unless
// one endpoint has more: a request may not be too long.
const linesAtOnce, portsAtOnce = 64, heddle.MaxPorts

// nextBatch is how many of the endpoints the next call asks for.
func nextBatch(all []heddle.AttachRequest) int {
	ports := 0
	for i, q := range all {
		if ports += len(q.Ports); i > 0 && ports > portsAtOnce || i == linesAtOnce {
			return i
		}
	}
	return len(all)
}

// othersGiven are the flags of the command beside --from, as given.
func othersGiven(cmd *cobra.Command) (all []string) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "from" {
			all = append(all, "--"+f.Name)
		}
	})
	return all
}

// attachAll attaches endpoints in batches. It ends with the first batch that is refused as a whole.
func (s *session) attachAll(ctx context.Context, network string, all []heddle.AttachRequest) (results []heddle.AttachResult, err error) {
	for len(all) > 0 {
		batch := all[:nextBatch(all)]
		for i := range batch {
			batch[i].Network = network
		}
		some, err := s.client().AttachBatch(ctx, batch)
		if err != nil {
			return results, err
		}
		results, all = append(results, some...), all[len(batch):]
	}
	return results, nil
}

// emitResults writes the endpoints that are attached, or all results as a document.
func (s *session) emitResults(results []heddle.AttachResult) error {
	var made []heddle.Endpoint
	before := 0
	for _, r := range results {
		if r.Reply == nil {
			continue
		}
		if made = append(made, r.Reply.Endpoint); r.Reply.Existed {
			before++
		}
	}
	if before > 0 {
		s.note("attached before: %d of %s", before, heddle.Count(len(results), "endpoint"))
	}
	return s.emit("AttachmentList", listOf(results), func(w io.Writer) error {
		if len(made) == 0 && len(results) > 0 { // errors say enough
			return nil
		}
		return s.endpointTable(w, made)
	})
}

// failureOf is the error of a list of which some endpoints are not attached: it has the words of the first error, and the others are noted.
// refused is the error of the call after the results; further ones were not made.
func (s *session) failureOf(file string, lines int, results []heddle.AttachResult, refused error) error {
	var failed []*heddle.Error
	for _, r := range results {
		if r.Error != nil {
			failed = append(failed, r.Error)
		}
	}
	missing := len(failed) + lines - len(results)
	if refused != nil {
		failed = append(failed, heddle.ErrorOf("attach endpoints", refused))
	}
	if len(failed) == 0 {
		return nil
	}
	for _, e := range failed[1:] {
		s.note("%v", e)
	}
	first, kind := failed[0], heddle.Partial
	if missing == lines {
		kind = first.Kind
	}
	return &heddle.Error{Code: first.Code, Kind: kind, Op: "attach", Object: fmt.Sprintf("%d of %s in %s", missing, heddle.Count(lines, "endpoint"), file),
		Cause: first.Sentence(), Remedy: heddle.FirstRemedy(first, "attach the list again: what is attached stays as it is")}
}

// readEndpoints reads a list of endpoints. Empty lines, and those that begin with #, are left out. Quotes are refused: no word has a space.
func (s *session) readEndpoints(network, file string) (all []heddle.AttachRequest, err error) {
	const remedy = "give a text file with the flags of an endpoint in each line, such as '--netns web --name web'"
	f, err := os.Open(file)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read list of endpoints", file, err, remedy)
	}
	defer f.Close()
	lines, first := bufio.NewScanner(f), map[heddle.EndpointID]int{}
	for number := 1; lines.Scan(); number++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		q, err := s.readEndpoint(network, words)
		if earlier, is := first[q.ID]; err == nil && is {
			err = heddle.Errorf(heddle.BadArgument, "attach endpoint", q.ID.String(), fmt.Sprintf("line %d asks for it, too", earlier), "give each endpoint an --id or --ifname of its own")
		}
		if err != nil {
			return nil, inLine(number, file, err)
		}
		first[q.ID], all = number, append(all, q)
	}
	if err := lines.Err(); err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read list of endpoints", file, err, remedy)
	}
	return all, nil
}

// readEndpoint reads the flags of one endpoint.
func (s *session) readEndpoint(network string, words []string) (q heddle.AttachRequest, err error) {
	var flags attachFlags
	line, text := pflag.NewFlagSet("", pflag.ContinueOnError), strings.Join(words, " ")
	line.Usage = func() {}
	flags.define(line)
	const remedy = "give the flags of 'heddle attach' for one endpoint, without quotes, such as '--netns web --name web'"
	if strings.ContainsAny(text, "\"'`\\") {
		return q, heddle.Errorf(heddle.BadArgument, "read flags", text, "it has quotes or a backslash", remedy)
	}
	if err := line.Parse(words); err != nil {
		return q, heddle.Wrap(heddle.BadArgument, "read flags", text, err, remedy)
	}
	if line.NArg() > 0 {
		return q, heddle.Errorf(heddle.BadArgument, "read flags", text, line.Arg(0)+" belongs to no flag", remedy)
	}
	return flags.request(network, line)
}

// inLine says in which line of a list an error is.
func inLine(number int, file string, err error) error {
	e := heddle.ErrorOf("read flags", err)
	return &heddle.Error{Code: e.Code, Kind: heddle.Usage, Op: "read", Object: fmt.Sprintf("line %d of %s", number, file), Cause: e.Sentence(), Remedy: e.Remedy}
}
