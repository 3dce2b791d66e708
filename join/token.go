package join

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// tokenScheme starts all tokens of this form.
const tokenScheme = "hdl1"

var tokenText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// token lets a host in. The pin identifies the cluster's authority to the host; the secret
// proves to the cluster that the host may join.
type token struct {
	pin, secret [16]byte
}

func newToken(pin [16]byte) token {
	t := token{pin: pin}
	rand.Read(t.secret[:]) // never fails
	return t
}

func (t token) String() string {
	return tokenScheme + "." + tokenText.EncodeToString(t.pin[:]) + "." + tokenText.EncodeToString(t.secret[:])
}

// hash is what the store knows of the token.
func (t token) hash() string {
	sum := sha256.Sum256(t.secret[:])
	return hex.EncodeToString(sum[:])
}

// label names the token for people. It reveals nothing about the secret.
func (t token) label() string { return t.hash()[:12] }

func parseToken(s string) (token, error) {
	var t token
	parts := strings.Split(strings.TrimSpace(s), ".")
	ok := len(parts) == 3 && parts[0] == tokenScheme && len(parts[1]) == 26 && len(parts[2]) == 26
	for i, into := range [][]byte{t.pin[:], t.secret[:]} {
		if ok {
			data, err := tokenText.DecodeString(parts[i+1])
			ok = err == nil && copy(into, data) == 16
		}
	}
	if !ok {
		return t, badToken("it is not of the form hdl1.….…; was it cut when it was copied?")
	}
	return t, nil
}

func badToken(why string) error {
	return heddle.Errorf(heddle.BadToken, "use", "the token", why,
		"make a new one with 'heddle host token' on a host that keeps the store")
}

// tokenRecord is what the store has of a token.
type tokenRecord struct {
	Expires time.Time `json:"expires"`
	// Uses is how many hosts it lets in, Used are those that it has.
	Uses int        `json:"uses"`
	Used []identity `json:"used,omitempty"`
	// May are the rights of the hosts that come by it.
	May []string `json:"may,omitempty"`
}

// redeem records that a host comes by the token. A host that has come by it before, and
// did not get the answer, is not counted twice.
func (r *tokenRecord) redeem(g identity, now time.Time) error {
	if now.After(r.Expires) {
		return badToken("it expired at " + formatTime(r.Expires) + ", and the clock here says " + formatTime(now))
	}
	for _, old := range r.Used {
		if old == g {
			return nil
		}
	}
	if len(r.Used) >= r.Uses {
		return badToken("it is used up")
	}
	r.Used = append(r.Used, g)
	return nil
}

// token returns the token's record as it will be after the host has come by it, and its
// present entry.
func (r roster) token(ctx context.Context, q joinRequest, now time.Time) (t tokenRecord, used store.Entry, err error) {
	secret := token{secret: [16]byte(q.Secret)}
	used, err = read(ctx, r.store, tokensPrefix+secret.hash())
	if err == nil && used.Value == nil {
		err = badToken("it is not one of this cluster, or has been gone for long")
	}
	if err == nil {
		err = json.Unmarshal(used.Value, &t)
	}
	if err == nil {
		err = t.redeem(q.identity, now)
	}
	return t, used, err
}
