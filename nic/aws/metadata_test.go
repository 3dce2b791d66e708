package aws

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	local "github.com/heddle-network/heddle/test/cloud"
)

// TestHostileMetadata: what the metadata service says wrongly, or without a session, is refused, and the API is not asked. Nothing that the service says of keys is in the
// error, and the environment moves the service nowhere.
func TestHostileMetadata(t *testing.T) {
	cell.Need(t)
	const (
		document = "/latest/dynamic/instance-identity/document"
		roles    = "/latest/meta-data/iam/security-credentials/"
		secret   = "SECRET-KEY"
	)
	good := func() map[string]string {
		return map[string]string{
			document: `{"instanceId": "i-0aa", "instanceType": "local.large", "region": "local-1"}`, roles: "heddle",
			roles + "heddle": `{"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "` + secret + `", "Token": "` + secret + `", "Expiration": "2999-01-01T00:00:00Z"}`}
	}
	for name, x := range map[string]struct {
		change func(map[string]string)
		token  int // the status of an answer without a session
		calls  int // of the API
		code   heddle.Code
	}{
		"all is well":        {calls: 1, code: heddle.BadArgument},
		"no sessions":        {token: http.StatusNotFound, code: heddle.NICServiceDown},
		"forbidden sessions": {token: http.StatusForbidden, code: heddle.NICServiceDown},
		"no document":        {change: func(m map[string]string) { delete(m, document) }, code: heddle.NICServiceDown},
		"no region":          {change: func(m map[string]string) { m[document] = `{"instanceId": "i-0aa", "instanceType": "local.large"}` }, code: heddle.NICServiceDown},
		"a long document": {change: func(m map[string]string) {
			m[document] = `{"x": "` + strings.Repeat("x", 1<<20) + `",` + m[document][1:]
		}, code: heddle.NICServiceDown},
		"no JSON": {change: func(m map[string]string) { m[roles+"heddle"] = secret }, code: heddle.NICServiceDown},
		"no keys": {change: func(m map[string]string) { m[roles+"heddle"] = `{"Code": "Success", "Token": "` + secret + `"}` }, code: heddle.NICServiceDown},
		"keys of another type": {change: func(m map[string]string) {
			m[roles+"heddle"] = `{"Code": "Success", "AccessKeyId": ["` + secret + `"]}`
		}, code: heddle.NICServiceDown},
		"an empty list": {change: func(m map[string]string) { m[roles] = "" }, code: heddle.NICServiceDown},
		"no role":       {change: func(m map[string]string) { delete(m, roles) }, code: heddle.NICNotGranted},
	} {
		t.Run(name, func(t *testing.T) {
			items := good()
			if x.change != nil {
				x.change(items)
			}
			var open, calls atomic.Int32
			metadata := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				item, is := items[r.URL.Path]
				switch {
				case r.Method == http.MethodPut && x.token != 0:
					w.WriteHeader(x.token)
				case r.Method == http.MethodPut:
					w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
					fmt.Fprint(w, "session")
				case !is:
					http.NotFound(w, r)
				default:
					if r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session" {
						open.Add(1)
					}
					fmt.Fprint(w, item)
				}
			})
			host, ca := local.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, "<Response><Errors><Error><Code>InvalidSubnetID.NotFound</Code><Message>no</Message></Error></Errors><RequestID>1</RequestID></Response>")
			}), metadata, local.EC2MetadataAddr)
			file := filepath.Join(t.TempDir(), "cloud.yaml")
			cell.Must(t, os.WriteFile(file, []byte("aws:\n  networks:\n    lan: {subnet: subnet-1, securityGroups: [sg-1]}\n  ec2: "+host+"\n  ca: "+ca+"\n"), 0o600))
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			p, err := Open(file)
			cell.Must(t, err)
			_, err = p.List(t.Context())
			if x.code.In(err) == nil || strings.Contains(err.Error(), secret) || open.Load() > 0 || int(calls.Load()) != x.calls {
				t.Errorf("%v; asked %d times without a session, and the API %d times", err, open.Load(), calls.Load())
			}
		})
	}
}
