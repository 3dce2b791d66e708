package main

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode"
)

// manColumns is how wide a table in a help text may be: man pages indent it, and fit 80 columns.
const manColumns = 71

// The columns in which the summary of a mode begins, and the texts of its options.
const modeColumn, optionColumn = 11, 31

// modeNames lists the modes.
func modeNames() (all []string) {
	for _, m := range mode.All() {
		all = append(all, m.Name())
	}
	return all
}

// modeWords lists the modes for a sentence: "host, bridge or routed".
func modeWords() string {
	names := modeNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// modeHelp describes the modes and their options, in the modes' own words.
func modeHelp() string {
	var out strings.Builder
	for _, m := range mode.All() {
		about := m.About()
		writeHanging(&out, "  "+m.Name(), about.Summary, modeColumn)
		for _, o := range about.Options {
			writeHanging(&out, "    --opt "+o.Name+"="+o.Values, o.Text, optionColumn)
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

// writeHanging writes a word, and a text that is folded beside it, or below if the word is long.
func writeHanging(out *strings.Builder, word, meaning string, column int) {
	if len([]rune(word)) >= column {
		fmt.Fprintln(out, word)
		word = ""
	}
	for line := range strings.SplitSeq(text.WrapSoft(meaning, manColumns-column), "\n") {
		fmt.Fprintf(out, "%-*s%s\n", column, word, strings.TrimSpace(line))
		word = ""
	}
}

// completeOptions completes --opt from the options of the mode that is named already, or of all.
func completeOptions(cmd *cobra.Command, _ []string, _ string) (all []string, _ cobra.ShellCompDirective) {
	named := cmd.Flag("mode").Value.String()
	for _, m := range mode.All() {
		if named != "" && m.Name() != named {
			continue
		}
		for _, o := range m.About().Options {
			all = append(all, completionsOf(o)...)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// completionsOf lists what may be written for an option; a value in the user's words stays open.
func completionsOf(o heddle.ModeOption) (all []string) {
	for value := range strings.SplitSeq(o.Values, "|") {
		if value == strings.ToUpper(value) {
			value = ""
		}
		all = append(all, cobra.CompletionWithDesc(o.Name+"="+value, o.Text))
	}
	return all
}
