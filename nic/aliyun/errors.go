package aliyun

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/heddle-network/heddle"
)

// apiError is an error that the API answered with; the library has a type for each class of them.
type apiError interface {
	error
	GetCode() *string
	GetStatusCode() *int
}

// codeOf returns the API's code of an error; "" if it is none of the API's.
func codeOf(err error) string {
	var known apiError
	if errors.As(err, &known) && known.GetCode() != nil {
		return *known.GetCode()
	}
	return ""
}

// throttled reports whether the API was asked too often.
func throttled(err error) bool {
	code := codeOf(err)
	return code == "Throttling" || strings.HasPrefix(code, "Throttling.")
}

// away reports whether the API did not answer, or has a fault of its own: the same call may succeed later.
func away(err error) bool {
	var known apiError
	if !errors.As(err, &known) {
		return true
	}
	return known.GetStatusCode() != nil && *known.GetStatusCode() >= http.StatusInternalServerError
}

// changing reports whether the API refused a call since the NIC, or the instance, is just changing.
func changing(err error) bool {
	switch codeOf(err) {
	case "InvalidOperation.InvalidEniState", "InvalidOperation.InvalidEcsState", "Operation.Conflict", "IncorrectInstanceStatus":
		return true
	}
	return false
}

// noSuch reports whether the API has no such NIC.
func noSuch(err error) bool {
	switch codeOf(err) {
	case "InvalidEniId.NotFound", "InvalidNetworkInterfaceId.NotFound":
		return true
	}
	return false
}

const (
	noAddress = "name an address of the vSwitch, or leave it out"
	noSlot    = "detach endpoints, or use a type of instance that may have more NICs"
)

// remedies are for codes of the API that a person can do something about.
var remedies = map[string]struct {
	code   heddle.Code
	remedy string
}{
	"InvalidVSwitchId.IpNotEnough":              {heddle.PoolExhausted, "detach endpoints, or name another vSwitch in the file of --nic-cloud"},
	"InvalidVSwitchId.IpInvalid":                {heddle.BadAddress, noAddress},
	"EniPerInstanceLimitExceeded":               {heddle.NoSlot, noSlot},
	"MaxEniCountExceeded":                       {heddle.NICNotGranted, "ask the cloud for a larger quota of NICs, or detach endpoints"},
	"SecurityGroupInstanceLimitExceed":          {heddle.NICNotGranted, "name another security group in the file of --nic-cloud: this one has as many members as it may have"},
	"QuotaExceeded.PrivateIpAddress":            {heddle.NICNotGranted, "ask the cloud for a larger quota of addresses, or detach endpoints"},
	"InvalidOperation.Ipv4CountExceeded":        {heddle.NICNotGranted, "detach endpoints, or use a type of instance that may have more addresses"},
	"InvalidOperation.Ipv6CountExceeded":        {heddle.NICNotGranted, "detach endpoints, or use a type of instance that may have more IPv6 addresses"},
	"MaxEniIpv6IpsCountExceeded":                {heddle.NICNotGranted, "detach endpoints, or use a type of instance that may have more IPv6 addresses"},
	"InvalidVSwitch.Ipv6NotTurnOn":              {heddle.BadArgument, "turn IPv6 on for the vSwitch"},
	"InvalidOperation.AvailabilityZoneMismatch": {heddle.BadArgument, "name a vSwitch of the instance's zone in the file of --nic-cloud"},
	"InvalidOperation.VpcMismatch":              {heddle.BadArgument, "name a vSwitch of the instance's VPC in the file of --nic-cloud"},
	"InvalidIp.Address":                         {heddle.BadAddress, noAddress},
	"InvalidIp.IpAssigned":                      {heddle.AddressTaken, "name another address, or leave it out; if none was named, try again: the cloud may choose another one"},
	"InvalidIp.IpRepeated":                      {heddle.AddressTaken, "name another address, or leave it out"},
	"InvalidPrivateIpAddress.Duplicated":        {heddle.AddressTaken, "name another address, or leave it out"},
	"InvalidVSwitchId.NotFound":                 {heddle.BadArgument, "correct the vSwitch in the file of --nic-cloud"},
	"InvalidSecurityGroupId.NotFound":           {heddle.BadArgument, "correct the security groups in the file of --nic-cloud"},
	"Forbidden.RAM":                             {heddle.NICNotGranted, "give the instance's RAM role the right to this action; docs/guides/cloud-nics.md lists all"},
	"InvalidSecurityToken.Expired":              {heddle.NICNotGranted, "look whether the machine's clock is right"},
	"IllegalTimestamp":                          {heddle.NICNotGranted, "look whether the machine's clock is right"},
}

// refused is an error of a call as one of ours.
func refused(op, object string, err error) error {
	code, remedy := heddle.NotPlugged, "look at the NIC in the cloud's console, and try again"
	switch k, is := remedies[codeOf(err)]; {
	case is:
		code, remedy = k.code, k.remedy
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || throttled(err):
		code, remedy = heddle.Waited, "try again: the cloud is slow, or is asked too often"
	case strings.HasPrefix(codeOf(err), "Forbidden") || strings.HasPrefix(codeOf(err), "InvalidAccessKeyId") || codeOf(err) == "SignatureDoesNotMatch":
		code, remedy = heddle.NICNotGranted, "correct the credentials, or the rights of the RAM role"
	case away(err):
		code, remedy = heddle.NICServiceDown, "look whether this machine reaches the cloud's API, and try again"
	}
	return heddle.Wrap(code, op, object, plain(err), remedy)
}

// plain is an error with the API's code and message in one line.
func plain(err error) error {
	var without *url.Error
	code := codeOf(err)
	if errors.As(err, &without) {
		return without.Err // the address is the API's, with all parameters
	}
	if code == "" {
		return err
	}
	return answered{code + ": " + strings.TrimSpace(strings.Join(strings.Fields(err.Error()), " ")), err}
}

// answered is an error of the API with a text of ours.
type answered struct {
	text string
	error
}

func (a answered) Error() string { return a.text }
func (a answered) Unwrap() error { return a.error }
