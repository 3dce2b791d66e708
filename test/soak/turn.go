package soak

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TurnVariable has the turn of a run: a number, of which the remainder by Turns counts, or "all". make test
// takes it from the commit; a run without it runs all.
const TurnVariable = "HEDDLE_TURN"

// Turns is how many turns there are.
const Turns = 3

// Turn skips the test unless its turn has come, which is one of 0, 1 and 2. Tests take turns that are
// much alike and take long: the same in another mode, under another kernel, by another provider. Three commits that follow
// each other need not have three different turns.
func Turn(t testing.TB, turn int) {
	t.Helper()
	if turn < 0 || turn >= Turns {
		t.Fatalf("turn %d is not below %d", turn, Turns)
	}
	if now := now(t); now >= 0 && now != turn {
		t.Skipf("it has turn %d of %d; %s=%d or =all runs it", turn, Turns, TurnVariable, turn)
	}
}

// now is the turn of this run, or -1 if all have theirs.
func now(t testing.TB) int {
	t.Helper()
	text := os.Getenv(TurnVariable)
	if On() || text == "" || text == "all" {
		return -1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is neither a number nor \"all\"", TurnVariable, text)
	}
	return int(n % Turns)
}

// Patterns returns the pattern of what has the turn of this run, or of all. The patterns stand in the order of their turns.
func Patterns(t testing.TB, turns [Turns]string) string {
	t.Helper()
	now := now(t)
	if now < 0 {
		return strings.Join(turns[:], "|")
	}
	return turns[now]
}

// OneOf returns one of the cases of a test that are much alike, such as its modes, or all of them. Which one that is depends on
// the turn of the run and on the test's name.
func OneOf[T any](t testing.TB, cases ...T) []T {
	t.Helper()
	now := now(t)
	if now < 0 {
		return cases
	}
	at := (now + sum(t.Name())) % len(cases)
	return cases[at : at+1]
}
