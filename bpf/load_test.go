package bpf

import (
	"errors"
	"github.com/cilium/ebpf"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	begin := time.Now()
	var o fastObjects
	err := loadFastObjects(&o, nil)
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) {
		t.Fatalf("%+v", ve)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	t.Log(time.Since(begin))
}
