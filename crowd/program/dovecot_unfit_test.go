package program

import (
	"os"
	"strings"
	"testing"
)

// TestDovecotUnfit: what heddle cannot configure, and what is not there as a whole, is said.
func TestDovecotUnfit(t *testing.T) {
	parts := dovecotParts
	t.Cleanup(func() { dovecotParts = parts })
	if why := (dovecot{}).unfit("2.3.21"); why != "" {
		t.Error(why)
	}
	if why := (dovecot{}).unfit("2.4.1-4"); !strings.Contains(why, "version 2.4.1-4, and heddle can configure 2.3 alone") {
		t.Error(why)
	}
	dovecotParts = []string{t.TempDir()}
	for _, part := range []string{"imap", "submission"} {
		if why := (dovecot{}).unfit("2.3.19.1"); why != "its part "+part+" is not installed" {
			t.Error(why)
		}
		if err := os.WriteFile(dovecotParts[0]+"/"+part, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if why := (dovecot{}).unfit("2.3.19.1"); why != "" {
		t.Error(why)
	}
}
