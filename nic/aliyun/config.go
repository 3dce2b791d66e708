package aliyun

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/nic/eni"
)

// Config says which NICs the agent may order. It is the key aliyun of the file of heddled --nic-cloud.
type Config struct {
	eni.Config `yaml:",inline"`
	// Networks are those on which containers may have NICs, by the name that networks of the agent use (--opt plug=NAME).
	Networks map[string]Network `yaml:"networks"`
	// ECS and VPC are the hosts of the API, with a port if it is not 443. If they are empty, they are the region's.
	ECS string `yaml:"ecs"`
	VPC string `yaml:"vpc"`
}

// Network is where a NIC is made: a vSwitch of the instance's zone and VPC.
type Network struct {
	VSwitch        string   `yaml:"vswitch"`
	SecurityGroups []string `yaml:"securityGroups"`
}

// maxGroups is how many security groups a NIC can have.
const maxGroups = 10

var (
	vSwitchID = lazyregexp.New(`^vsw-[0-9a-z]{1,60}$`)
	groupID   = lazyregexp.New(`^sg-[0-9a-z]{1,60}$`)
)

// readConfig reads the configuration of a file, and checks it. Its error is of code heddle.BadArgument and names line and key.
func readConfig(file string) (Config, error) {
	var whole struct {
		Aliyun *Config `yaml:"aliyun"`
	}
	err := eni.Read(file, &whole, func() ([]string, string) {
		if whole.Aliyun == nil {
			return nil, "it names no cloud; give the key aliyun"
		}
		keys, why := whole.Aliyun.check()
		if why == "" {
			return nil, ""
		}
		return append([]string{"aliyun"}, keys...), why
	})
	if err != nil {
		return Config{}, err
	}
	return *whole.Aliyun, nil
}

// check returns what is wrong, and the keys that lead to it; "" if nothing is.
func (c Config) check() (keys []string, why string) {
	for _, check := range []func() ([]string, string){
		func() ([]string, string) { return eni.CheckNetworks(c.Networks, Network.check) },
		c.Config.Check,
		func() ([]string, string) { return eni.CheckHost("ecs", c.ECS) },
		func() ([]string, string) { return eni.CheckHost("vpc", c.VPC) },
	} {
		if keys, why = check(); why != "" {
			return keys, why
		}
	}
	return nil, ""
}

func (n Network) check() (keys []string, why string) {
	if !vSwitchID.MatchString(n.VSwitch) {
		return []string{"vswitch"}, fmt.Sprintf("%q is no ID of a vSwitch; give one such as vsw-bp1s5fnvk4gn2tws0", heddle.Clip(n.VSwitch))
	}
	return eni.CheckGroups(n.SecurityGroups, groupID, "sg-bp15ed6xe1yxeycg7", maxGroups)
}
