package main

import "os"

// The codes of the CNI specification, section 5, Error; own ones start at 100.
const (
	badEnvironment = 4
	ioFailure      = 5
	tryAgainLater  = 11
	notAvailable   = 50
	refused        = 101
)

// agentDown is heddle.AgentDown, noPermission heddle.NoPermission.
const (
	agentDown    = "HDL-4001"
	noPermission = "HDL-3006"
)

// fail prints an error for the runtime. It goes to stdout: the specification
// names stderr in one place and stdout in another, and runtimes read stdout.
func (q request) fail(conf []byte, code int, message, details string) int {
	if q.netavark {
		return failNetavark(message, details)
	}
	text := `{"cniVersion":` + quote(versionOf(conf)) + `,"code":` + itoa(code) + `,"msg":` + quote(message)
	if details != "" {
		text += `,"details":` + quote(details)
	}
	os.Stdout.WriteString(text + "}\n")
	return 1
}

// quote writes a JSON string (RFC 8259, section 7). It escapes everything that is not
// ASCII, since this program does not know which characters a terminal would execute.
func quote(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r > 0xffff:
			r -= 0x10000
			out = appendNumber(appendNumber(out, 0xd800+r>>10), 0xdc00+r&0x3ff)
		case r < ' ' || r >= 0x7f:
			out = appendNumber(out, r)
		default:
			out = append(out, byte(r))
		}
	}
	return string(append(out, '"'))
}

func appendNumber(out []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
