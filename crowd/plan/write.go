package plan

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
)

// Write draws the whole plan and writes it as JSON lines: one session a line, users in the order of their numbers,
// the sessions of a user in the order of time. It holds one user's diary at a time. The summary's SHA-256 is that
// of what is written.
func (p *Plan) Write(ctx context.Context, to io.Writer) (Summary, error) {
	sum, f := sha256.New(), newForecast(p.scenario, p.here)
	out := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<16)
	lines, scripted := json.NewEncoder(out), firsts{}
	for number := 1; number <= p.scenario.Users; number++ {
		d, err := p.User(ctx, number)
		if err == nil {
			err = ctx.Err() // a user with no sessions does not ask
		}
		if err != nil {
			return Summary{}, err
		}
		if p.here.user(number) {
			f.add(d)
			if p.Link(number) != nil {
				f.Linked++
			}
		}
		f.answer(d)
		for _, s := range d.Sessions {
			p.note(scripted, s)
			if err := lines.Encode(s); err != nil {
				return Summary{}, err
			}
		}
	}
	if err := p.drawAgain(ctx, scripted); err != nil {
		return Summary{}, err
	}
	if err := out.Flush(); err != nil {
		return Summary{}, err
	}
	return f.summary(hex.EncodeToString(sum.Sum(nil))), nil
}
