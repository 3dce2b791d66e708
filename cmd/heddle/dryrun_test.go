package main

import (
	"strings"
	"testing"
)

// withoutDryRun are the commands that have no --dry-run, with the reason. "GROUP *" stands for a group and all
// its commands.
var withoutDryRun = map[string]string{
	"heddle audit": showsOnly, "heddle check": showsOnly, "heddle endpoint list": showsOnly, "heddle endpoint show": showsOnly,
	"heddle events": showsOnly, "heddle explain": showsOnly, "heddle flows": showsOnly, "heddle host authority": showsOnly, "heddle host list": showsOnly,
	"heddle name *": showsOnly, "heddle network list": showsOnly, "heddle network show": showsOnly, "heddle path *": showsOnly,
	"heddle peer *": showsOnly, "heddle status": showsOnly, "heddle lab list": showsOnly, "heddle version": showsOnly,
	"heddle completion": showsOnly, "heddle doctor list": showsOnly,

	"heddle crowd *":               "it prints what a crowd would do, or did, and writes a file that the user names",
	"heddle crowd run":             "'crowd plan' says what it would do; it works in a lab of its own, which it removes, or takes off the network whom it put there",
	"heddle doctor":                "without --fix it changes nothing, and prints the commands that mend",
	"heddle docs *":                "it writes pages into a folder that the user names",
	"heddle endpoint label":        "it changes nothing but the words that it is given",
	"heddle host authority export": "it writes a file that the user names",
	"heddle nic grant":             "it writes a file that the user names, and ends the machine's older grant",
	"heddle nic list":              showsOnly,
	"heddle policy list":           showsOnly,
	"heddle policy show":           showsOnly,
	"heddle policy test":           showsOnly,
	"heddle havip list":            showsOnly,
	"heddle havip show":            showsOnly,
	"heddle ping":                  "it sends echoes, and changes nothing",
	"heddle vpc list":              showsOnly,
	"heddle vpc show":              showsOnly,
	"heddle vpc route list":        showsOnly,
	"heddle nic serve":             "it does what machines ask for, until it is interrupted",
	"heddle lab exec":              "the command is the user's",
	"heddle lab fault *":           "faults are of a lab, and 'lab fault clear' mends them",
	"heddle bench *":               "it works in labs of its own, which it removes, and bad flags fail before one is made",
}

const showsOnly = "it changes nothing"

// TestDryRuns: whatever changes something has --dry-run, or a reason why not.
func TestDryRuns(t *testing.T) {
	used := map[string]bool{}
	for _, cmd := range runnable(testTree()) {
		path := cmd.CommandPath()
		has := cmd.Flags().Lookup("dry-run") != nil
		excepted := has
		for of := range withoutDryRun {
			group, all := strings.CutSuffix(of, " *")
			if !has && (path == group || all && strings.HasPrefix(path, group+" ")) {
				used[of], excepted = true, true
			}
		}
		if !excepted {
			t.Errorf("%s has no --dry-run", path)
		}
	}
	for of := range withoutDryRun {
		if !used[of] {
			t.Errorf("the exception of %s is about no command without --dry-run", of)
		}
	}
}
