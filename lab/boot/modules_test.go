package boot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestDependencies(t *testing.T) {
	for _, c := range []struct{ modinfo, want string }{
		{"license=GPL\x00depends=\x00", ""},
		{"depends=nf_tables,nf_conntrack\x00name=x\x00", "nf_tables nf_conntrack"},
		{"softdep=pre: crc32c\x00depends=\x00", "crc32c"},
		{"softdep=pre: a b post: c\x00depends=d\x00", "a b d"},
		{"softdep=post: c\x00", ""},
	} {
		if got := strings.Join(dependencies([]byte(c.modinfo)), " "); got != c.want {
			t.Errorf("dependencies(%q) = %q, want %q", c.modinfo, got, c.want)
		}
	}
}

func TestLoadOrder(t *testing.T) {
	kernel := map[string]string{
		"bridge":       "depends=stp,llc\x00",
		"stp":          "depends=llc\x00",
		"llc":          "depends=\x00",
		"br_netfilter": "depends=bridge\x00",
		"libcrc32c":    "softdep=pre: crc32c\x00depends=\x00",
		"nf_conntrack": "depends=libcrc32c\x00",
		"ring_a":       "depends=ring-b\x00",
		"ring_b":       "softdep=pre: ring_a\x00",
	}
	info := func(name string) ([]byte, error) {
		if name == "broken" {
			return nil, errors.New("bad file")
		}
		if section, ok := kernel[name]; ok {
			return []byte(section), nil
		}
		return nil, fs.ErrNotExist
	}
	for _, c := range []struct{ names, want string }{
		{"br-netfilter", "llc stp bridge br_netfilter"},
		{"llc bridge bridge", "llc stp bridge"},
		{"nf_conntrack", "libcrc32c nf_conntrack"}, // crc32c is built in
		{"no_such_module stp", "llc stp"},
		{"ring_a", "ring_b ring_a"},
	} {
		got, err := loadOrder(strings.Fields(c.names), info)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("loadOrder(%q) = %q, %v, want %q", c.names, got, err, c.want)
		}
	}
	if _, err := loadOrder([]string{"broken"}, info); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("an unreadable module gives %v, want an error that names it", err)
	}
}

func TestCutSignature(t *testing.T) {
	object, signature := []byte("\x7fELF object"), []byte("0123456789")
	header := binary.BigEndian.AppendUint32(make([]byte, 8), uint32(len(signature)))
	signed := slices.Concat(object, signature, header, []byte("~Module signature appended~\n"))
	if got := cutSignature(signed); !bytes.Equal(got, object) {
		t.Errorf("signed module becomes %q, want %q", got, object)
	}
	if got := cutSignature(object); !bytes.Equal(got, object) {
		t.Errorf("unsigned module becomes %q", got)
	}
}
