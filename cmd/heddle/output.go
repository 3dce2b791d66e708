package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// apiVersion is in every document; it changes when the meaning of a field changes.
const apiVersion = "heddle/v1"

// emit writes v to standard output: as a document of that kind, or as text by calling human.
func (s *session) emit(kind string, v any, human func(io.Writer) error) error {
	if s.isText() {
		return human(printTo(s.stdout))
	}
	return writeDocument(s.stdout, s.format, kind, v)
}

// list is a document's body of several items.
type list[T any] struct {
	Items []T `json:"items"`
}

// listOf returns a list whose items are never null in JSON.
func listOf[T any](items []T) list[T] { return list[T]{append([]T{}, items...)} }

// writeDocument writes an object with its fields beside apiVersion and kind.
func writeDocument(w io.Writer, format, kind string, v any) error {
	doc, err := document(kind, v)
	if err != nil {
		return err
	}
	var text []byte
	if format == formatYAML && bytes.IndexFunc(doc, invisible) < 0 {
		text, err = yaml.JSONToYAML(doc)
	} else { // JSON is YAML, too
		text, err = indented(doc)
		text = escaped(text, format)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func document(kind string, v any) ([]byte, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // commands have < and > in them
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	fields := bytes.TrimSpace(body.Bytes())[1:] // without the brace
	if len(fields) > 1 {
		fields = append([]byte{','}, fields...)
	}
	return append(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q`, apiVersion, kind), fields...), nil
}

func indented(doc []byte) ([]byte, error) {
	var out bytes.Buffer
	err := json.Indent(&out, doc, "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), err
}

// emitCommands writes what a dry run has planned, one command a line.
func (s *session) emitCommands(commands []string) error {
	return s.emit("CommandList", listOf(commands), func(w io.Writer) error {
		for _, c := range commands {
			fmt.Fprintln(w, c)
		}
		if len(commands) == 0 {
			s.note("nothing changes in the kernel")
		}
		return nil
	})
}

// dryRunFlag adds --dry-run to a command that changes something.
func dryRunFlag(cmd *cobra.Command, dryRun *bool) {
	cmd.Flags().BoolVar(dryRun, "dry-run", false, "print the commands and change nothing")
}

// emitDone writes the outcome of a command that has no data: a sentence, or a document of
// the object that it changed.
func (s *session) emitDone(kind string, v any, format string, args ...any) error {
	return s.emit(kind, v, func(w io.Writer) error {
		return printLine(w, format+"\n", args...)
	})
}
