package lab

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
)

// The control channel of a machine is a NIC of its own: a TAP at the emulator, and in the
// guest a network namespace without other users. Each request is a line of JSON on its own
// connection, so that TCP separates the streams and controls the flow of each.
const (
	controlLink = "control"
	outerAddr   = "169.254.104.1/30"
	guestAddr   = "169.254.104.2/30"
	controlPort = "169.254.104.2:104"
)

// The verbs of the control channel.
const (
	verbReady   = "ready"   // the guest is furnished
	verbRun     = "run"     // run a command; frames follow
	verbInput   = "input"   // this connection is the input of a command
	verbDial    = "dial"    // this connection becomes one to a unix socket
	verbListens = "listens" // whether somebody listens on a TCP port
	verbStart   = "start"   // start a program
	verbSignal  = "signal"  // send a program a signal
	verbStop    = "stop"    // stop the agent, or all
	verbResume  = "resume"
	verbMTU     = "mtu"

	verbProcessor = "processor" // what the kernel accounts of its processor
)

// request is a request to a machine.
type request struct {
	Verb string `json:"verb"`
	// Name is a program, a NIC or a socket's path; Number a signal, a port or an
	// MTU. All means all processes, not the agent alone.
	Name    string   `json:"name,omitempty"`
	Number  int      `json:"number,omitempty"`
	All     bool     `json:"all,omitempty"`
	Program *program `json:"program,omitempty"`
	Command *command `json:"command,omitempty"`
}

// command is a command to run in a machine.
type command struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Input names the connection that carries its input; without a name it has none.
	Input string `json:"input,omitempty"`
	// Rows and Columns are those of the caller's terminal, if it has one.
	Rows    uint16 `json:"rows,omitempty"`
	Columns uint16 `json:"columns,omitempty"`
}

// reply answers all verbs except run. Text is the answer to verbProcessor.
type reply struct {
	Yes   bool   `json:"yes,omitempty"`
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

func (r reply) err() error {
	if r.Error == "" {
		return nil
	}
	return errors.New(r.Error)
}

// The frames of a command. Each has its length before its data. The first four go to the
// caller, the others come from it.
const (
	frameOutput = 'o'
	frameErrors = 'e'
	frameEnd    = 'x' // the wait status (wait(2)), four bytes
	frameFailed = 'f' // an exit code in one byte, then why it could not be started

	frameSignal = 's'
	frameSize   = 'w' // rows and columns, two bytes each
)

// channel is a connection to a machine, with its frames.
type channel struct {
	net.Conn
	in *bufio.Reader
	mu sync.Mutex // one frame is written at a time
}

func newChannel(c net.Conn) *channel { return &channel{Conn: c, in: bufio.NewReader(c)} }

func (c *channel) Read(b []byte) (int, error) { return c.in.Read(b) }

func (c *channel) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(b, '\n'))
	return err
}

func (c *channel) receive(v any) error {
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

func (c *channel) sendFrame(kind byte, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	_, err := c.Write(append(head, data...))
	return err
}

func (c *channel) receiveFrame() (kind byte, data []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, err
	}
	data = make([]byte, binary.BigEndian.Uint32(head[1:]))
	_, err = io.ReadFull(c.in, data)
	return head[0], data, err
}

// closeWrite ends this direction of the connection.
func (c *channel) closeWrite() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}

// splice copies bytes between two connections, in both directions, until both end.
func splice(a, b *channel) {
	var both sync.WaitGroup
	for _, way := range [][2]*channel{{a, b}, {b, a}} {
		both.Go(func() {
			io.Copy(way[0].Conn, way[1])
			way[0].closeWrite()
		})
	}
	both.Wait()
	a.Close()
	b.Close()
}
