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

// agentDown is heddle.AgentDown.
const agentDown = "HDL-4001"

// fail prints an error for the runtime. It goes to stdout: the specification
// names stderr in one place and stdout in another, and runtimes read stdout.
func fail(conf []byte, code int, message, details string) int {
	text := `{"cniVersion":` + quote(versionOf(conf)) + `,"code":` + itoa(code) + `,"msg":` + quote(message)
	if details != "" {
		text += `,"details":` + quote(details)
	}
	os.Stdout.WriteString(text + "}\n")
	return 1
}

// quote writes a JSON string (RFC 8259, section 7). Bytes that are not ASCII
// are left as they are if the text is valid UTF-8.
func quote(s string) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			out = append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			out = append(out, string(r)...)
		}
	}
	return string(append(out, '"'))
}
