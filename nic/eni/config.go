package eni

import (
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/yamlfile"
)

// Config is what the key of each cloud has in the file of heddled --nic-cloud, besides its networks and its hosts.
type Config struct {
	// Most is how many NICs the agent may have at a time; 0 is as many as the instance's type allows.
	Most int `yaml:"nics"`
	// Prefixes has NICs that containers share get addresses by prefixes: 16 by one call, for one of the addresses that a NIC may have.
	Prefixes bool `yaml:"prefixes"`
	// CA is a file with the certificates (PEM) of who vouches for the API; if it is empty, the system's vouch.
	CA string `yaml:"ca"`
}

const (
	// maxNICs and maxNetworks bound the configuration; no type of instance has more NICs.
	maxNICs, maxNetworks = 256, 256
	// maxConfig bounds a file in bytes.
	maxConfig = 1 << 20
)

// MaxListed is how many NICs a cloud lists at most. An API that says more is at fault.
const MaxListed = 4 * maxNICs

// Read reads a file into a value whose keys are clouds. check returns what is wrong with it, and the keys that lead to it; "" if nothing is. The error is of code
// heddle.BadArgument and names line and key.
func Read(file string, into any, check func() (keys []string, why string)) error {
	text, err := readOwn(file)
	if err == nil {
		err = yamlfile.Decode(text, into)
	}
	if err == nil {
		if keys, why := check(); len(keys) > 0 {
			err = fmt.Errorf("%s: %s", yamlfile.Where(text, keys...), why)
		} else if why != "" {
			err = fmt.Errorf("%s", why)
		}
	}
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "read configuration of cloud's NICs", file, err, "correct the file; docs/guides/cloud-nics.md describes it")
	}
	return nil
}

// Named returns which cloud a file has a key of. It is one of clouds.
func Named(file string, clouds ...string) (string, error) {
	var whole map[string]any
	name := ""
	err := Read(file, &whole, func() ([]string, string) {
		for _, c := range clouds {
			if _, is := whole[c]; is && name != "" {
				return []string{c}, fmt.Sprintf("it names two clouds; leave %s or %s out", name, c)
			} else if is {
				name = c
			}
		}
		if name == "" {
			return nil, "it names no cloud; give one of the keys " + strings.Join(clouds, ", ")
		}
		return nil, ""
	})
	return name, err
}

// Check returns what is wrong, and the key that leads to it; "" if nothing is.
func (c Config) Check() (keys []string, why string) {
	if c.Most < 0 || c.Most > maxNICs {
		return []string{"nics"}, fmt.Sprintf("%d is no number of NICs; give 1 to %d, or leave it out", c.Most, maxNICs)
	}
	return nil, ""
}

// CheckNetworks is Check for networks by their names, each of which one checks.
func CheckNetworks[N any](all map[string]N, one func(N) (keys []string, why string)) (keys []string, why string) {
	if n := len(all); n == 0 || n > maxNetworks {
		return []string{"networks"}, fmt.Sprintf("it has %s; give 1 to %d", heddle.Count(n, "network"), maxNetworks)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := []string{"networks", name}
		if err := heddle.CheckNetworkName(name); err != nil {
			return at, fmt.Sprintf("%q is no name of a network; %s", heddle.Clip(name), heddle.RemedyOf(err))
		}
		if below, why := one(all[name]); why != "" {
			return append(at, below...), why
		}
	}
	return nil, ""
}

// CheckGroups is Check for the security groups of a network, of which there are so many at most. example is one of the form.
func CheckGroups(all []string, form *lazyregexp.Regexp, example string, most int) (keys []string, why string) {
	if len(all) == 0 || len(all) > most {
		return []string{"securityGroups"}, fmt.Sprintf("there are %s; give 1 to %d", heddle.Count(len(all), "security group"), most)
	}
	for i, g := range all {
		at := []string{"securityGroups", strconv.Itoa(i + 1)}
		if !form.MatchString(g) {
			return at, fmt.Sprintf("%q is no ID of a security group; give one such as %s", heddle.Clip(g), example)
		}
		if slices.Contains(all[:i], g) {
			return at, g + " is given twice; take one out"
		}
	}
	return nil, ""
}

var hostPort = lazyregexp.New(`^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$`)

// CheckHost is Check for the host of an API, which a key has, or which is empty.
func CheckHost(key, host string) (keys []string, why string) {
	if host == "" || hostPort.MatchString(host) {
		return nil, ""
	}
	return []string{key}, fmt.Sprintf("%q is no host; give its name or address, and a port after a colon, without https://", heddle.Clip(host))
}

// readOwn reads a file that nobody else can write: who can write it can have the instance's credentials sent to a server of his own.
func readOwn(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("others than its owner can write it (mode %04o); 'chmod go-w' it", info.Mode().Perm())
	}
	return io.ReadAll(io.LimitReader(f, maxConfig))
}

// Authorities returns who vouches for the API; nil is the system's.
func (c Config) Authorities() (*x509.CertPool, error) {
	if c.CA == "" {
		return nil, nil
	}
	text, err := readOwn(c.CA)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = fmt.Errorf("it has no certificate in PEM form")
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read certificates of cloud's API", c.CA, err, "correct the key ca")
	}
	return pool, nil
}
