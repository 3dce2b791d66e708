package aliyun

import (
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// Config says which NICs the agent may order. It is the key aliyun of the file of heddled --nic-cloud.
type Config struct {
	// Networks are those on which containers may have NICs, by the name that networks of the agent use (--opt plug=NAME).
	Networks map[string]Network `yaml:"networks"`
	// Most is how many NICs the agent may have at a time; 0 is as many as the instance's type allows.
	Most int `yaml:"nics"`
	// ECS and VPC are the hosts of the API, with a port if it is not 443. If they are empty, they are the region's.
	ECS string `yaml:"ecs"`
	VPC string `yaml:"vpc"`
	// CA is a file with the certificates (PEM) of who vouches for the API; if it is empty, the system's vouch.
	CA string `yaml:"ca"`
}

// Network is where a NIC is made: a vSwitch of the instance's zone and VPC.
type Network struct {
	VSwitch        string   `yaml:"vswitch"`
	SecurityGroups []string `yaml:"securityGroups"`
}

const (
	// maxGroups is how many security groups a NIC can have.
	maxGroups = 10
	// maxNICs and maxNetworks bound the configuration; no type of instance has more NICs.
	maxNICs, maxNetworks = 256, 256
	// maxConfig bounds a file in bytes.
	maxConfig = 1 << 20
)

var (
	vSwitchID = regexp.MustCompile(`^vsw-[0-9a-z]{1,60}$`)
	groupID   = regexp.MustCompile(`^sg-[0-9a-z]{1,60}$`)
	hostPort  = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$`)
)

// readConfig reads the configuration of a file, and checks it. Its error is of code heddle.BadArgument and names line and key.
func readConfig(file string) (Config, error) {
	bad := func(err error) error {
		return heddle.Wrap(heddle.BadArgument, "read configuration of cloud's NICs", file, err, "correct the file; docs/guides/cloud-nics.md describes it")
	}
	text, err := readOwn(file)
	if err != nil {
		return Config{}, bad(err)
	}
	var whole struct {
		Aliyun *Config `yaml:"aliyun"`
	}
	if err := yamlfile.Decode(text, &whole); err != nil {
		return Config{}, bad(err)
	}
	if whole.Aliyun == nil {
		return Config{}, bad(fmt.Errorf("it names no cloud; give the key aliyun"))
	}
	if keys, why := whole.Aliyun.check(); why != "" {
		return Config{}, bad(fmt.Errorf("%s: %s", yamlfile.Where(text, append([]string{"aliyun"}, keys...)...), why))
	}
	return *whole.Aliyun, nil
}

// check returns what is wrong, and the keys that lead to it; "" if nothing is.
func (c Config) check() (keys []string, why string) {
	if n := len(c.Networks); n == 0 || n > maxNetworks {
		return []string{"networks"}, fmt.Sprintf("it has %s; give 1 to %d", heddle.Count(n, "network"), maxNetworks)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Networks)) {
		n, at := c.Networks[name], []string{"networks", name}
		if err := heddle.CheckNetworkName(name); err != nil {
			return at, fmt.Sprintf("%q is no name of a network; %s", heddle.Clip(name), heddle.RemedyOf(err))
		}
		if below, why := n.check(); why != "" {
			return append(at, below...), why
		}
	}
	if c.Most < 0 || c.Most > maxNICs {
		return []string{"nics"}, fmt.Sprintf("%d is no number of NICs; give 1 to %d, or leave it out", c.Most, maxNICs)
	}
	for key, host := range map[string]string{"ecs": c.ECS, "vpc": c.VPC} {
		if host != "" && !hostPort.MatchString(host) {
			return []string{key}, fmt.Sprintf("%q is no host; give its name or address, and a port after a colon, without https://", heddle.Clip(host))
		}
	}
	return nil, ""
}

func (n Network) check() (keys []string, why string) {
	switch {
	case !vSwitchID.MatchString(n.VSwitch):
		return []string{"vswitch"}, fmt.Sprintf("%q is no ID of a vSwitch; give one such as vsw-bp1s5fnvk4gn2tws0", heddle.Clip(n.VSwitch))
	case len(n.SecurityGroups) == 0 || len(n.SecurityGroups) > maxGroups:
		return []string{"securityGroups"}, fmt.Sprintf("there are %s; give 1 to %d", heddle.Count(len(n.SecurityGroups), "security group"), maxGroups)
	}
	for i, g := range n.SecurityGroups {
		at := []string{"securityGroups", strconv.Itoa(i + 1)}
		if !groupID.MatchString(g) {
			return at, fmt.Sprintf("%q is no ID of a security group; give one such as sg-bp15ed6xe1yxeycg7", heddle.Clip(g))
		}
		if slices.Contains(n.SecurityGroups[:i], g) {
			return at, g + " is given twice; take one out"
		}
	}
	return nil, ""
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

// authorities returns who vouches for the API; nil is the system's.
func (c Config) authorities() (*x509.CertPool, error) {
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
