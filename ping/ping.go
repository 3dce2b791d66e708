// Package ping sends ICMP echoes from a container's own stack, and says by which way they go. Who asks opens the socket in the container's
// network namespace, and tells what the agent's records say of both ends: what comes back is the word of others, and decides nothing but its
// own line.
package ping

import (
	"fmt"
	"time"

	"github.com/heddle-network/heddle"
)

// The bounds of a request. MaxTime is how long all its echoes may take together: while an echo is under way, the container's namespace stays.
const (
	MaxCount              = 1000
	MinPause, MaxPause    = 10 * time.Millisecond, 10 * time.Second
	MaxTime               = 15 * time.Minute
	MaxSize               = 65507 // what an IPv4 packet has room for behind its header and that of ICMP
	DefaultCount          = 4
	DefaultSize           = 56 // with ICMP's header 64 bytes, as ping(8) sends
	DefaultPause          = time.Second
	headerICMP, mostWords = 8, 253
)

// Request asks for echoes from an endpoint of this host.
type Request struct {
	ID heddle.EndpointID `json:"id"`
	// To is an IP address, the ID of another endpoint, CONTAINER/IF, or a name that the container can resolve.
	To string `json:"to"`
	// Family is 4 or 6 if only addresses of that IP version are wanted, else 0.
	Family int `json:"family,omitempty"`
	// Count is how many echoes are sent, each IntervalSeconds after the one before, or when that is answered or given up: after WaitSeconds.
	Count           int     `json:"count"`
	IntervalSeconds float64 `json:"intervalSeconds"`
	WaitSeconds     float64 `json:"waitSeconds"`
	// Size is how many bytes follow ICMP's header. With FullSize the packets are as large as the path's MTU, and are not fragmented.
	Size     int  `json:"size"`
	FullSize bool `json:"fullSize,omitempty"`
}

// Interval and Wait are the times as durations.
func (q Request) Interval() time.Duration { return seconds(q.IntervalSeconds) }
func (q Request) Wait() time.Duration     { return seconds(q.WaitSeconds) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Wants reports whether addresses of the family are wanted.
func (q Request) Wants(f heddle.Family) bool {
	return q.Family == 0 || q.Family == 4 && f == heddle.IPv4 || q.Family == 6 && f == heddle.IPv6
}

// Check refuses what is out of bounds. Its errors are of code heddle.BadArgument.
func (q Request) Check() error {
	bad := func(what string, value any, remedy string) error {
		return heddle.Errorf(heddle.BadArgument, "ping with", fmt.Sprintf("%s %v", what, value), "it is out of bounds", remedy)
	}
	pause := func(s float64) bool { return s >= MinPause.Seconds() && s <= MaxPause.Seconds() }
	switch {
	case q.Family != 0 && q.Family != 4 && q.Family != 6:
		return bad("IP version", q.Family, "give 4 or 6")
	case q.To == "" || len(q.To) > mostWords:
		return heddle.Errorf(heddle.BadArgument, "ping", fmt.Sprintf("%q", heddle.Clip(q.To)), "it is no destination", "give an IP address, an endpoint's ID or a name")
	case q.Count < 1 || q.Count > MaxCount:
		return bad("count", q.Count, fmt.Sprintf("give 1 to %d", MaxCount))
	case !pause(q.IntervalSeconds):
		return bad("interval", q.Interval(), fmt.Sprintf("give %s to %s", MinPause, MaxPause))
	case !pause(q.WaitSeconds):
		return bad("wait", q.Wait(), fmt.Sprintf("give %s to %s", MinPause, MaxPause))
	case q.Size < 0 || q.Size > MaxSize:
		return bad("size", q.Size, fmt.Sprintf("give 0 to %d bytes", MaxSize))
	case time.Duration(q.Count)*max(q.Interval(), q.Wait()) > MaxTime:
		return bad("count", q.Count, fmt.Sprintf("ask for less: all together may take %s", MaxTime))
	}
	return q.ID.Check()
}

// Line is a line of the answer: first the path, then each echo, then the summary; or an error, which is the last line.
type Line struct {
	Path    *Path         `json:"path,omitempty"`
	Echo    *Echo         `json:"echo,omitempty"`
	Summary *Summary      `json:"summary,omitempty"`
	Error   *heddle.Error `json:"error,omitempty"`
}

// Summary is what became of the echoes. The times are those of the answered ones, in seconds.
type Summary struct {
	Sent       int     `json:"sent"`
	Received   int     `json:"received"`
	Loss       float64 `json:"lossPercent"`
	MinSeconds float64 `json:"minSeconds,omitempty"`
	AvgSeconds float64 `json:"avgSeconds,omitempty"`
	MaxSeconds float64 `json:"maxSeconds,omitempty"`
	// Advice is what to look at next, if nothing was answered.
	Advice []string `json:"advice,omitempty"`
}

// Summarize counts echoes.
func Summarize(all []Echo) Summary {
	s := Summary{Sent: len(all)}
	for _, e := range all {
		if e.Outcome != Reply {
			continue
		}
		if s.Received++; s.Received == 1 || e.RTTSeconds < s.MinSeconds {
			s.MinSeconds = e.RTTSeconds
		}
		s.MaxSeconds = max(s.MaxSeconds, e.RTTSeconds)
		s.AvgSeconds += e.RTTSeconds
	}
	if s.Received > 0 {
		s.AvgSeconds /= float64(s.Received)
	}
	if s.Sent > 0 {
		s.Loss = 100 * float64(s.Sent-s.Received) / float64(s.Sent)
	}
	return s
}

// Bytes is the size of the IP packet of an echo, and Size what an IP packet of so many bytes has room for, each without fragments.
func Bytes(size int, f heddle.Family) int { return size + f.Header() + headerICMP }
func Size(bytes int, f heddle.Family) int { return bytes - f.Header() - headerICMP }
