// Package door has what the doors have in common: the queue of detaches and the answers that the
// plugin of container runtimes takes, and the options by which networks are created.
package door

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/heddle-network/heddle"
)

// ExitHeader carries the plugin's exit code. An answer without it does not come from a door of the plugin's.
const ExitHeader = "Cni-Exit"

// Reply answers the plugin with what it prints on stdout: an answer, nothing, or err in the form
// that inWords gives it, which is the runtime's.
func Reply(w http.ResponseWriter, answer any, err error, inWords func(error) any) {
	exit, status := 0, http.StatusOK
	var body []byte
	if err == nil && answer != nil {
		body, err = json.Marshal(answer)
	}
	if err != nil {
		exit = 1
		body, _ = json.Marshal(inWords(err))
		if heddle.KindOf(err) == heddle.Unreachable {
			status = http.StatusServiceUnavailable // the plugin queues a detach
		}
	}
	if len(body) > 0 {
		body = append(body, '\n')
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set(ExitHeader, strconv.Itoa(exit))
	w.WriteHeader(status)
	w.Write(body)
}
