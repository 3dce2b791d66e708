package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	openapiutil "github.com/alibabacloud-go/darabonba-openapi/v2/utils"
	"github.com/alibabacloud-go/tea/dara"
)

// API answers the actions of ECS and VPC, to requests that the role's credentials have signed.
func (c *Cloud) API() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := c.act(r)
		var known failure
		switch {
		case errors.As(err, &known):
			if known.code == "TooFewForPrefix" || known.code == "NoFreePrefix" { // no code is documented for the second
				known.code = "InvalidVSwitchId.IpNotEnough"
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(known.status)
			json.NewEncoder(w).Encode(map[string]string{"Code": known.code, "Message": "the local cloud refuses it", "RequestId": "1"})
		case err != nil:
			http.Error(w, `{"Code":"InternalError","Message":"`+err.Error()+`"}`, http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(answer)
		}
	})
}

func (c *Cloud) act(r *http.Request) (any, error) {
	action, q := r.Header.Get("x-acs-action"), query{}
	for name, values := range r.URL.Query() {
		q[name] = values[0]
	}
	do := actions[action]
	return c.serveAction(action, signed(r, q), func() (any, error) {
		if do == nil || q["RegionId"] != Region {
			return nil, fail("InvalidAction.NotFound")
		}
		return do(c, r.Context(), q)
	})
}

// serveAction answers a call by do, unless the cloud misbehaves.
func (c *Cloud) serveAction(action string, signed bool, do func() (any, error)) (any, error) {
	c.mu.Lock()
	f := c.faults
	c.calls[action]++
	if f.Throttled > 0 {
		c.faults.Throttled--
	}
	c.mu.Unlock()
	switch code := f.Refuse[action]; {
	case f.Away:
		return nil, failure{http.StatusServiceUnavailable, "ServiceUnavailable", ""}
	case !signed:
		return nil, forbid("SignatureDoesNotMatch")
	case f.Throttled > 0:
		return nil, fail("Throttling.User")
	case code != "":
		return nil, forbid(code)
	}
	answer, err := do()
	if f.Lost || f.LostOf == action {
		return nil, failure{http.StatusServiceUnavailable, "ServiceUnavailable", ""}
	}
	return answer, err
}

// signed reports whether the request is signed with the role's credentials, and lately (Alibaba Cloud, "V3 request structure and signature").
func signed(r *http.Request, q query) bool {
	at, err := time.Parse(time.RFC3339, r.Header.Get("x-acs-date"))
	if err != nil || time.Since(at).Abs() > 15*time.Minute || r.Header.Get("x-acs-security-token") != session {
		return false
	}
	_, names, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	request := dara.NewRequest()
	request.Method, request.Pathname, request.Query = dara.String(r.Method), dara.String(r.URL.Path), map[string]*string{}
	for name, value := range q {
		request.Query[name] = dara.String(value)
	}
	for _, name := range strings.Split(names, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		request.Headers[name] = dara.String(value)
	}
	want := openapiutil.GetAuthorization(request, dara.String("ACS3-HMAC-SHA256"), dara.String(r.Header.Get("x-acs-content-sha256")), dara.String(accessKey), dara.String(secret))
	return dara.StringValue(want) == r.Header.Get("Authorization")
}

// Metadata answers as the metadata service does, to those that have asked for a token.
func (c *Cloud) Metadata() http.Handler {
	items := map[string]func() string{
		"instance-id":               func() string { return c.Instance },
		"instance/instance-type":    func() string { return c.Type },
		"region-id":                 func() string { return Region },
		"ram/security-credentials/": func() string { return role },
		"ram/security-credentials/" + role: func() string {
			text, _ := json.Marshal(map[string]string{"Code": "Success", "AccessKeyId": accessKey, "AccessKeySecret": secret, "SecurityToken": session,
				"Expiration": time.Now().Add(6 * time.Hour).UTC().Format("2006-01-02T15:04:05Z")})
			return string(text)
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, r *http.Request) { c.answer(w, c.token()) })
	mux.HandleFunc("GET /latest/meta-data/", func(w http.ResponseWriter, r *http.Request) {
		item := strings.TrimPrefix(r.URL.Path, "/latest/meta-data/")
		text, is := "", false
		if f := items[item]; f != nil && !(c.roleless() && strings.HasPrefix(item, "ram/")) {
			text, is = f(), true
		}
		switch {
		case r.Header.Get("X-aliyun-ecs-metadata-token") != c.token():
			http.Error(w, "401", http.StatusUnauthorized)
		case !is:
			http.NotFound(w, r)
		default:
			c.answer(w, text)
		}
	})
	return mux
}

func (*Cloud) answer(w http.ResponseWriter, text string) { w.Write([]byte(text)) }

// token is what the metadata service asks for. Forget makes it another one.
func (c *Cloud) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint("token ", c.forgot)
}

// NoRole takes the RAM role from the instance.
func (c *Cloud) NoRole() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noRole = true
}

func (c *Cloud) roleless() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.noRole
}

// Forget ends the sessions with the metadata service.
func (c *Cloud) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgot++
}
