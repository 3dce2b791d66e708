package protocol

import (
	"bytes"
	"os/exec"
	"testing"
)

// TestLine: a request is as large as the room for it, if that is not too small, and the script answers as many letters as the request
// says, whatever came before.
func TestLine(t *testing.T) {
	var said bytes.Buffer
	var want int64
	for _, x := range []struct{ room, letters, size, answer int64 }{
		{2, 1, 2, 2}, {2, 2, 2, 2}, {2, 3, 2, 10}, {2, 490, 2, 490}, {2, 491, 7, 491}, {0, 1, 2, 2}, {3, 1, 5, 1}, {10, 7, 10, 7}, {512, 100, 512, 100},
		{513, 100, 513, 100}, {1007, 5000, 1007, 5000}, {1008, 1, 1008, 1}, {100_000, 100_000, 100_000, 100_000}} {
		head, size, answer := line(x.room, x.letters)
		if size != x.size || answer != x.answer {
			t.Errorf("%+v: %d bytes for %d letters", x, size, answer)
		}
		said.Write(head)
		said.Write(bytes.Repeat([]byte{'\n'}, int(size)-len(head)))
		want += answer
	}
	shell := exec.Command("sh", "-c", SSHScript)
	shell.Stdin = &said
	got, err := shell.CombinedOutput()
	if err != nil || int64(len(got)) != want {
		t.Errorf("%d letters, %v; expected %d", len(got), err, want)
	}
}

// TestInPackets: what is in packets of a size.
func TestInPackets(t *testing.T) {
	const full = packetData + packetFrame
	for size, want := range map[int64]int64{36: 2, 44: 10, full: packetData, 2 * full: 2 * packetData, 2*full + 36: 2*packetData + 2} {
		if got := inPackets(size); got != want {
			t.Errorf("%d bytes: %d; expected %d", size, got, want)
		}
	}
}
