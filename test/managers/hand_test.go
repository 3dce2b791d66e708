package managers_test

import (
	"bufio"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
)

// ask sends commands to QEMU by hand. An error is returned in QEMU's words.
func (m *machine) ask(t *testing.T, commands ...string) (failed string) {
	t.Helper()
	conn, err := net.Dial("unix", m.file("hand.qmp"))
	cell.Must(t, err)
	defer conn.Close()
	cell.Must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	answers := json.NewDecoder(bufio.NewReader(conn))
	for _, c := range append([]string{"", `{"execute": "qmp_capabilities"}`}, commands...) {
		_, err := conn.Write([]byte(c)) // before the first command there is a greeting
		cell.Must(t, err)
		for answer := map[string]any{"event": ""}; answer["event"] != nil; {
			answer = map[string]any{}
			cell.Must(t, answers.Decode(&answer))
			if e, found := answer["error"]; found {
				text, _ := json.Marshal(e)
				failed = string(text)
			}
		}
	}
	return failed
}

// plugOther plugs in a NIC that is not heddle's, into the slot that heddle's service may not have. Behind it is QEMU's own network, with DHCP.
func (m *machine) plugOther(t *testing.T) {
	t.Helper()
	if failed := m.ask(t, `{"execute": "netdev_add", "arguments": {"type": "user", "id": "hand"}}`,
		`{"execute": "device_add", "arguments": {"driver": "virtio-net-pci", "netdev": "hand", "id": "hand", "bus": "slot4", "mac": "`+otherMAC+`"}}`); failed != "" {
		t.Fatal(failed)
	}
}

// unplugOther takes it out, and waits until the machine has let go of it.
func (m *machine) unplugOther(t *testing.T) {
	t.Helper()
	if failed := m.ask(t, `{"execute": "device_del", "arguments": {"id": "hand"}}`); failed != "" {
		t.Fatal(failed)
	}
	m.run(t, "tries=60; while ip -o link | grep -q "+otherMAC+"; do tries=$((tries - 1)); [ $tries -gt 0 ] || exit 1; sleep 1; done")
	for range 20 { // QEMU is done with the device a little later
		if failed := m.ask(t, `{"execute": "netdev_del", "arguments": {"id": "hand"}}`); !strings.Contains(failed, "in use") {
			return
		}
		time.Sleep(time.Second)
	}
}
