package lab

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strconv"
	"time"

	"github.com/heddle-network/heddle"
)

const askTime = 30 * time.Second // limit for a machine's reply

// dialMachine connects to the guest, from the namespace of the control channel.
func dialMachine(ctx context.Context) (*channel, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", controlPort)
	if err != nil {
		return nil, err
	}
	return newChannel(c), nil
}

// ask sends a request to the machine, and returns its reply.
func (h *Host) ask(ctx context.Context, r request) (answer reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.timeLimit(askTime))
	defer cancel()
	if !h.runs() {
		return answer, errors.New("the machine is off")
	}
	in, err := h.enter()
	if err != nil {
		return answer, err
	}
	defer in.Close()
	var c *channel
	if err := in.within(func() (err error) { c, err = dialMachine(ctx); return err }); err != nil {
		return answer, err
	}
	defer c.Close()
	return c.ask(ctx, r)
}

func (c *channel) ask(ctx context.Context, r request) (answer reply, err error) {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := c.send(r); err != nil {
		return answer, err
	}
	if err := c.receive(&answer); err != nil {
		return answer, err
	}
	return answer, answer.err()
}

// send sends a request whose reply is only an error or nothing.
func (h *Host) send(ctx context.Context, r request) error {
	_, err := h.ask(ctx, r)
	return err
}

// commandInMachine is Command for a virtual machine. nsenter runs the init's program in the
// emulator's network namespace; this program connects the caller to the command in the guest.
func (h *Host) commandInMachine(ctx context.Context, argv []string) (*exec.Cmd, error) {
	tool, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, heddle.Wrap(heddle.LabFailed, "enter host", h.Name, err, "install util-linux")
	}
	pid := strconv.Itoa(h.Pid)
	args := append([]string{"--target", pid, "--net", "--", "/proc/" + pid + "/exe", argEnter, pid}, argv...)
	return exec.CommandContext(ctx, tool, args...), nil
}
