package doctor

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// dockerSocket is where dockerd looks for a driver named heddle.
const dockerSocket = "/run/docker/plugins/heddle.sock"

func dockerChecks() []Check {
	return []Check{
		{ID: "docker-driver", Title: "dockerd finds its driver", Wrong: "dockerd does not find its driver", Severity: Warn, Looks: "a running dockerd, and a call of /Plugin.Activate on " + dockerSocket,
			Why: "dockerd waits 15 seconds for each call to the driver, and fails: containers on networks of driver heddle do not start.", Remedy: "systemctl restart heddled (without --docker-socket, or with " + dockerSocket + ")", look: lookDockerDriver},
		{ID: "docker-names", Title: "Docker's networks bear their names", Wrong: "A network of Docker's does not bear its name", Severity: Note, Looks: "networks in 'heddle network list' whose names start with docker-",
			Why: "The agent learns a network's name from dockerd's API, a moment after the network was made. Where dockerd does not answer on it, the network goes by a part of Docker's id, and is not on other hosts.", Remedy: "heddled --docker-host unix://PATH, with the path on which dockerd listens", look: lookDockerNames},
	}
}

// lookDockerDriver calls the driver as dockerd does. A managed plugin has another socket.
func lookDockerDriver(ctx context.Context, h *Host) Finding {
	if len(h.running("dockerd")) == 0 {
		return fine("dockerd does not run here")
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", dockerSocket)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: answerTimeout}
	r, err := client.Post("http://plugin/Plugin.Activate", "application/json", nil)
	if err != nil {
		return trouble([]string{dockerSocket + ": " + err.Error()})
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, 4096))
	if err != nil || !strings.Contains(string(text), "NetworkDriver") || !strings.Contains(string(text), "IpamDriver") {
		return trouble([]string{fmt.Sprintf("%s answers %q, status %d (%v)", dockerSocket, text, r.StatusCode, err)})
	}
	return fine(dockerSocket + " answers " + strings.TrimSpace(string(text)))
}

// lookDockerNames leaves out networks of the last seconds, which may still get their names.
func lookDockerNames(ctx context.Context, h *Host) Finding {
	all, err := h.Networks(ctx)
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, n := range all {
		if n.HasProvisionalName() && time.Since(n.Created) > 10*time.Second {
			evidence = append(evidence, "network "+n.Name+" of "+n.Created.Format(time.RFC3339))
		}
	}
	return trouble(evidence)
}
