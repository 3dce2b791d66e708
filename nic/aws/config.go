package aws

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/nic/eni"
)

// Config says which NICs the agent may order. It is the key aws of the file of heddled --nic-cloud.
type Config struct {
	eni.Config `yaml:",inline"`
	// Networks are those on which containers may have NICs, by the name that networks of the agent use (--opt plug=NAME).
	Networks map[string]Network `yaml:"networks"`
	// MTU of the NICs in bytes; 0 is 1500, which is right everywhere.
	MTU int `yaml:"mtu"`
	// EC2 is the host of the API, with a port if it is not 443. If it is empty, it is the region's.
	EC2 string `yaml:"ec2"`
}

// Network is where a NIC is made: a subnet of the instance's zone and VPC.
type Network struct {
	Subnet         string   `yaml:"subnet"`
	SecurityGroups []string `yaml:"securityGroups"`
}

const (
	// maxGroups is how many security groups a NIC can have.
	maxGroups = 16
	// minMTU and maxMTU bound the MTU: IPv6 needs the one (RFC 8200, 5), and no NIC of the cloud has more than the other (EC2 User Guide, "Jumbo frames").
	minMTU, maxMTU = 1280, 9001
)

var (
	subnetID = lazyregexp.New(`^subnet-[0-9a-f]{1,60}$`)
	groupID  = lazyregexp.New(`^sg-[0-9a-f]{1,60}$`)
)

// readConfig reads the configuration of a file, and checks it. Its error is of code heddle.BadArgument and names line and key.
func readConfig(file string) (Config, error) {
	var whole struct {
		AWS *Config `yaml:"aws"`
	}
	err := eni.Read(file, &whole, func() ([]string, string) {
		if whole.AWS == nil {
			return nil, "it names no cloud; give the key aws"
		}
		keys, why := whole.AWS.check()
		if why == "" {
			return nil, ""
		}
		return append([]string{"aws"}, keys...), why
	})
	if err != nil {
		return Config{}, err
	}
	return *whole.AWS, nil
}

// check returns what is wrong, and the keys that lead to it; "" if nothing is.
func (c Config) check() (keys []string, why string) {
	if keys, why = eni.CheckNetworks(c.Networks, Network.check); why != "" {
		return keys, why
	}
	if keys, why = c.Config.Check(); why != "" {
		return keys, why
	}
	if c.MTU != 0 && (c.MTU < minMTU || c.MTU > maxMTU) {
		return []string{"mtu"}, fmt.Sprintf("%d is no MTU of the cloud's NICs; give %d to %d, or leave it out", c.MTU, minMTU, maxMTU)
	}
	return eni.CheckHost("ec2", c.EC2)
}

func (n Network) check() (keys []string, why string) {
	if !subnetID.MatchString(n.Subnet) {
		return []string{"subnet"}, fmt.Sprintf("%q is no ID of a subnet; give one such as subnet-0bb1c79de3f1d2a57", heddle.Clip(n.Subnet))
	}
	return eni.CheckGroups(n.SecurityGroups, groupID, "sg-0a1b2c3d4e5f60718", maxGroups)
}
