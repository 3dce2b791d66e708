package heddle

import "testing"

func TestCount(t *testing.T) {
	for n, want := range []string{"0 hosts", "1 host", "2 hosts"} {
		if got := Count(n, "host"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestList(t *testing.T) {
	if got := List([]int{1, 2}) + List([]string{}); got != "1, 2" {
		t.Error(got)
	}
}
