package plan

import "math"

// Amounts are what happens within a time.
type Amounts struct {
	Sessions    int64 `json:"sessions"` // that begin
	Steps       int64 `json:"steps"`    // that begin
	Requests    int64 `json:"requests"`
	Connections int64 `json:"connections"`   // that are opened
	Sent        int64 `json:"bytesSent"`     // by users, payload alone
	Received    int64 `json:"bytesReceived"` // by users, payload alone
}

// Plus adds amounts. A sum too large for its type is the largest number.
func (a Amounts) Plus(b Amounts) Amounts {
	return Amounts{
		Sessions:    plus(a.Sessions, b.Sessions),
		Steps:       plus(a.Steps, b.Steps),
		Requests:    plus(a.Requests, b.Requests),
		Connections: plus(a.Connections, b.Connections),
		Sent:        plus(a.Sent, b.Sent),
		Received:    plus(a.Received, b.Received),
	}
}

// plus adds numbers that are not negative.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
