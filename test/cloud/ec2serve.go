package cloud

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// EC2MetadataAddr is where the metadata service of EC2 is.
const EC2MetadataAddr = "169.254.169.254"

// EC2 answers the actions of EC2, to requests that the role's credentials have signed.
func (c *Cloud) EC2() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := c.ec2Act(r)
		w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
		if err != nil {
			known := failure{http.StatusInternalServerError, "InternalError", err.Error()}
			if errors.As(err, &known) && ec2Codes[known.code].code != "" {
				known = ec2Codes[known.code]
			}
			w.WriteHeader(known.status)
			answer = saidFailure{Code: known.code, Message: cmp.Or(known.said, "the local cloud refuses it"), ID: "1"}
		}
		xml.NewEncoder(w).Encode(answer)
	})
}

func (c *Cloud) ec2Act(r *http.Request) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	v, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fail("MalformedQueryString")
	}
	action := v.Get("Action")
	do := ec2Actions[action]
	return c.serveAction(action, ec2Signed(r, body), func() (any, error) {
		if do == nil {
			return nil, fail("InvalidAction.NotFound")
		}
		return do(c, r.Context(), v)
	})
}

// ec2Signed reports whether the request is signed with the role's credentials, and lately (AWS Signature Version 4).
func ec2Signed(r *http.Request, body []byte) bool {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil || time.Since(at).Abs() > 5*time.Minute {
		return false
	}
	_, names, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "https://"+r.Host+r.URL.RequestURI(), nil)
	if err != nil {
		return false
	}
	for _, name := range strings.Split(names, ";") {
		switch name {
		case "host":
		case "content-length":
			again.ContentLength = r.ContentLength
		default:
			again.Header.Set(name, r.Header.Get(name))
		}
	}
	sum := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(r.Context(), aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secret, SessionToken: session}, again, hex.EncodeToString(sum[:]), "ec2", Region, at)
	return err == nil && again.Header.Get("Authorization") == r.Header.Get("Authorization") && r.Header.Get("X-Amz-Security-Token") == session
}

// EC2Metadata answers as EC2's metadata service does, to those that have asked for a session.
func (c *Cloud) EC2Metadata() http.Handler {
	const iam = "/latest/meta-data/iam/security-credentials/"
	items := map[string]any{
		"/latest/dynamic/instance-identity/document": map[string]string{"instanceId": c.Instance, "instanceType": c.Type, "region": Region},
		iam: role,
		iam + role: map[string]string{"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": accessKey, "SecretAccessKey": secret, "Token": session,
			"Expiration": time.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339)},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		item, is := items[r.URL.Path]
		is = is && !(c.roleless() && strings.HasPrefix(r.URL.Path, iam))
		text, plain := item.(string)
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
			fmt.Fprint(w, c.token())
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != c.token():
			http.Error(w, "401", http.StatusUnauthorized)
		case !is:
			http.NotFound(w, r)
		case plain:
			fmt.Fprint(w, text)
		default:
			json.NewEncoder(w).Encode(item)
		}
	})
}
