package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heddle-network/heddle"
)

// attachFrom attaches the endpoints of a list, which is read and checked before the first one is attached.
func (s *session) attachFrom(cmd *cobra.Command, network, file string) error {
	if beside := othersGiven(cmd); len(beside) > 0 {
		return heddle.Errorf(heddle.BadArgument, "attach endpoints from", file, strings.Join(beside, " and ")+" given beside --from", "give each endpoint's flags in its line of the file")
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
	return errors.Join(s.emitResults(results), refused, s.failureOf(file, results))
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
	for batch := range slices.Chunk(all, heddle.MaxBatch) {
		for i := range batch {
			batch[i].Network = network
		}
		some, err := s.client().AttachBatch(ctx, batch)
		if err != nil {
			return results, err
		}
		results = append(results, some...)
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

// failureOf is the error of a list of which some endpoints could not be attached. It has the words of the first one; the others
// are noted.
func (s *session) failureOf(file string, results []heddle.AttachResult) error {
	failed := slices.DeleteFunc(slices.Clone(results), func(r heddle.AttachResult) bool { return r.Error == nil })
	if len(failed) == 0 {
		return nil
	}
	for _, r := range failed[1:] {
		s.note("%v", r.Error)
	}
	first, kind := failed[0].Error, heddle.Partial
	if len(failed) == len(results) {
		kind = first.Kind
	}
	return &heddle.Error{Code: first.Code, Kind: kind, Op: "attach", Object: fmt.Sprintf("%d of %s in %s", len(failed), heddle.Count(len(results), "endpoint"), file),
		Cause: first.Sentence(), Remedy: first.Remedy + "; attach the list again afterwards: what is attached stays as it is"}
}

// readEndpoints reads a list of endpoints. Empty lines, and those that begin with #, are left out.
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
			err = heddle.Errorf(heddle.BadArgument, "attach endpoint", q.ID.String(), fmt.Sprintf("line %d has it, too", earlier), "give each endpoint an --id or --ifname of its own")
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
	line := &cobra.Command{}
	flags.define(s, line)
	if err = line.ParseFlags(words); err == nil {
		err = cobra.NoArgs(line, line.Flags().Args())
	}
	if err != nil {
		return q, heddle.Wrap(heddle.BadArgument, "read flags", strings.Join(words, " "), err, "see 'heddle attach --help'")
	}
	return flags.request(network, line.Flags())
}

// inLine says in which line of a list an error is.
func inLine(number int, file string, err error) error {
	e := heddle.ErrorOf(err)
	return &heddle.Error{Code: e.Code, Kind: heddle.Usage, Op: "read", Object: fmt.Sprintf("line %d of %s", number, file), Cause: e.Sentence(), Remedy: e.Remedy}
}
