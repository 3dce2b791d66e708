package heddle

import "testing"

func TestCommandLine(t *testing.T) {
	got := CommandLine([]string{"heddle", "bench", "--fail-if", "p99>200us", "--out", "a b", "it's", ""})
	if want := `heddle bench --fail-if 'p99>200us' --out 'a b' 'it'\''s' ''`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
