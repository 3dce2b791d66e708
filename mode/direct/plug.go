package direct

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/parts"
)

// PlugsOn is the value of option plug.
func (Mode) PlugsOn(n heddle.Network) string { return n.Options["plug"] }

// WarmNICs is the value of option warm: a number, or the least and the most.
func (Mode) WarmNICs(n heddle.Network) (least, most int) {
	least, most, _ = readWarm(n.Options["warm"]) // Check has read it
	return least, most
}

// DriverOf is the value of option driver.
func (Mode) DriverOf(n heddle.Network) string { return n.Options["driver"] }

// maxWarm bounds the NICs that wait for endpoints.
const maxWarm = 64

// readWarm reads the value of option warm; "" is none.
func readWarm(s string) (least, most int, ok bool) {
	if s == "" {
		return 0, 0, true
	}
	low, high, between := strings.Cut(s, "-")
	if !between {
		high = low
	}
	least, err1 := strconv.Atoi(low)
	most, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || least < 0 || most < least || most > maxWarm {
		return 0, 0, false
	}
	return least, most, true
}

// checkPlugs refuses options about NICs that are plugged in.
func (m Mode) checkPlugs(n heddle.Network) error {
	plug, warm := m.PlugsOn(n), n.Options["warm"]
	if n.FromDHCP() && plug != "" {
		if err := checkLeased(n); err != nil {
			return err
		}
	}
	if err := m.checkDriver(n); err != nil {
		return err
	}
	if warm == "" && plug == "" {
		return nil
	}
	if _, _, ok := readWarm(warm); !ok || warm != "" && plug == "" {
		return parts.BadOption(n, "warm="+heddle.Clip(warm), fmt.Sprintf("it is neither a number from 0 to %d nor two such as 2-8, beside --opt plug", maxWarm),
			"say how many NICs are to wait for endpoints, or the least and the most")
	}
	return heddle.CheckNICNetwork(plug)
}

// checkLeased refuses NICs that are plugged in on which no address can be leased, or kept.
func checkLeased(n heddle.Network) error {
	switch {
	case n.Options["driver"] != "":
		return parts.BadOption(n, heddle.OptionAddresses+"="+heddle.AddressesDHCP, "a program drives the NICs, and nobody else can ask a DHCP server there",
			"leave --opt driver out, or --opt addresses")
	case n.Options["warm"] != "":
		return parts.BadOption(n, "warm="+heddle.Clip(n.Options["warm"]), "NICs that wait for containers have addresses, and here a DHCP server gives one when a container has the NIC",
			"leave --opt warm out, or --opt addresses")
	}
	return nil
}

// checkDriver refuses a driver that is none for programs, and what such NICs cannot have.
func (m Mode) checkDriver(n heddle.Network) error {
	driver, given := n.Options["driver"]
	switch {
	case !given:
		return nil
	case driver != heddle.VFIODriver:
		return parts.BadOption(n, "driver="+heddle.Clip(driver), "programs use NICs by "+heddle.VFIODriver+" alone: other drivers keep no program from the machine's memory",
			"give --opt driver="+heddle.VFIODriver+", or leave it out")
	case m.PlugsOn(n) == "":
		return parts.BadOption(n, "driver="+driver, "it is for NICs that are plugged in", "give --opt plug=NETWORK as well")
	case n.Options["warm"] != "":
		return parts.BadOption(n, "driver="+driver, "a NIC that a program has driven does not wait for the next one", "leave --opt warm out")
	}
	return nil
}
