// Package remote asks the service of a hypervisor for NICs, over TLS, with a grant. It also holds what both ends
// must agree on. Package nic/service is the other end.
package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Grant lets a machine ask for NICs. Its file is made on the hypervisor, and is carried into the machine.
type Grant struct {
	// Address is the service's IP address and port, such as "192.0.2.1:7950" or "[2001:db8::1]:7950".
	Address string `json:"address"`
	// Fingerprint identifies the service's certificate; see Fingerprint.
	Fingerprint string `json:"fingerprint"`
	// Machine is the hypervisor's name for the machine.
	Machine string `json:"machine"`
	// Secret proves to the service that the caller is the machine.
	Secret string `json:"secret"`
}

const (
	// SecretSize is the length of a secret in bytes.
	SecretSize = 32
	// maxGrant is how many bytes of a grant's file are read.
	maxGrant = 4096
)

var secretText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// SecretText is the text form of a secret.
func SecretText(secret [SecretSize]byte) string { return secretText.EncodeToString(secret[:]) }

func parseSecret(s string) (secret [SecretSize]byte, ok bool) {
	data, err := secretText.DecodeString(s)
	return secret, err == nil && copy(secret[:], data) == SecretSize && len(data) == SecretSize && SecretText(secret) == s
}

// Fingerprint is the SHA-256 of a certificate in DER, in hex.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// scheme begins the header Authorization (RFC 6750, 2.1).
const scheme = "Bearer "

func (g Grant) authorization() string { return scheme + g.Machine + "." + g.Secret }

// ParseAuthorization reads the header by which a caller proves that it has a grant. It reports whether the
// header has the right form.
func ParseAuthorization(header string) (machine string, secret [SecretSize]byte, ok bool) {
	text, ok := strings.CutPrefix(header, scheme)
	dot := strings.LastIndexByte(text, '.')
	if !ok || dot < 0 || nic.CheckMachine(text[:dot]) != nil {
		return "", secret, false
	}
	secret, ok = parseSecret(text[dot+1:])
	return text[:dot], secret, ok
}

// ReadGrant reads the grant of a file. It refuses a file that others than its owner can read, with
// heddle.OpenSecret.
func ReadGrant(file string) (g Grant, err error) {
	f, err := os.Open(file)
	if err != nil {
		return g, heddle.Wrap(heddle.BadArgument, "read grant from file", file, err, "name the file that 'heddle nic grant' made on the hypervisor")
	}
	defer f.Close()
	if err := heddle.CheckSecret(f, "the grant", file); err != nil {
		return g, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxGrant+1))
	if err == nil && len(text) > maxGrant {
		err = fmt.Errorf("it is larger than %d bytes", maxGrant)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&g)
	}
	if err == nil {
		err = g.check()
	}
	if err != nil {
		return Grant{}, heddle.Errorf(heddle.BadGrant, "read grant from file", file, heddle.CauseOf(err),
			"copy the file once more from the hypervisor, or make a new one there with 'heddle nic grant FILE MACHINE --out GRANT'")
	}
	return g, nil
}

func (g Grant) check() error {
	if err := nic.CheckMachine(g.Machine); err != nil {
		return err
	}
	if sum, err := hex.DecodeString(g.Fingerprint); err != nil || len(sum) != sha256.Size || hex.EncodeToString(sum) != g.Fingerprint {
		return errors.New("its fingerprint is not 64 hexadecimal digits in lower case")
	}
	if _, ok := parseSecret(g.Secret); !ok {
		return errors.New("its secret is malformed")
	}
	return CheckAddress(g.Address)
}

// CheckAddress returns an error if s is not the address of a service: the unicast IP address, and the port.
func CheckAddress(s string) error {
	a, err := netip.ParseAddrPort(s)
	if err != nil || a.Port() == 0 || a.Addr().IsUnspecified() || a.Addr().IsMulticast() || a.Addr().Zone() != "" || a.Addr().Is4In6() {
		return fmt.Errorf("%q is not a unicast IP address with a port; give one such as 192.0.2.1:7950 or [2001:db8::1]:7950", heddle.Clip(s))
	}
	return nil
}

// Text is the content of the grant's file.
func (g Grant) Text() ([]byte, error) {
	text, err := json.MarshalIndent(g, "", "  ")
	return append(text, '\n'), err
}
