package aliyun

import (
	"errors"
	"net/http"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// apiError is an error that the API answered with; the library has a type for each class of them.
type apiError interface {
	error
	GetCode() *string
	GetStatusCode() *int
}

// failure says what an error of the API means.
func failure(err error) eni.Failure {
	f := eni.Failure{Err: err, Fault: eni.Away}
	var known apiError
	if !errors.As(err, &known) {
		return f
	}
	f.Message = err.Error()
	if known.GetCode() != nil {
		f.Code = *known.GetCode()
	}
	switch {
	case f.Code == "Throttling" || strings.HasPrefix(f.Code, "Throttling."):
		f.Fault = eni.Throttled
	case changing[f.Code]:
		f.Fault = eni.Changing
	case f.Code == "InvalidEniId.NotFound" || f.Code == "InvalidNetworkInterfaceId.NotFound":
		f.Fault = eni.Gone
	case strings.HasPrefix(f.Code, "Forbidden") || strings.HasPrefix(f.Code, "InvalidAccessKeyId") || f.Code == "SignatureDoesNotMatch":
		f.Fault = eni.Forbidden
	case known.GetStatusCode() == nil || *known.GetStatusCode() < http.StatusInternalServerError:
		f.Fault = eni.Refused
	}
	return f
}

// changing are the codes of calls that are refused since the NIC, or the instance, is just changing.
var changing = map[string]bool{"InvalidOperation.InvalidEniState": true, "InvalidOperation.InvalidEcsState": true, "Operation.Conflict": true, "IncorrectInstanceStatus": true}

const noAddress = "name an address of the vSwitch, or leave it out"

// remedies are for codes of the API that a person can do something about.
var remedies = map[string]eni.Remedy{
	"InvalidVSwitchId.IpNotEnough":              {Code: heddle.PoolExhausted, Remedy: "detach endpoints, or name another vSwitch in the file of --nic-cloud"},
	"InvalidVSwitchId.IpInvalid":                {Code: heddle.BadAddress, Remedy: noAddress},
	"EniPerInstanceLimitExceeded":               {Code: heddle.NoSlot, Remedy: eni.NoSlot},
	"MaxEniCountExceeded":                       {Code: heddle.NICNotGranted, Remedy: "ask the cloud for a larger quota of NICs, or detach endpoints"},
	"SecurityGroupInstanceLimitExceed":          {Code: heddle.NICNotGranted, Remedy: "name another security group in the file of --nic-cloud: this one has as many members as it may have"},
	"QuotaExceeded.PrivateIpAddress":            {Code: heddle.NICNotGranted, Remedy: "ask the cloud for a larger quota of addresses, or detach endpoints"},
	"InvalidOperation.Ipv4CountExceeded":        {Code: heddle.NICNotGranted, Remedy: "detach endpoints, or use a type of instance that may have more addresses"},
	"InvalidOperation.Ipv6CountExceeded":        {Code: heddle.NICNotGranted, Remedy: "detach endpoints, or use a type of instance that may have more IPv6 addresses"},
	"MaxEniIpv6IpsCountExceeded":                {Code: heddle.NICNotGranted, Remedy: "detach endpoints, or use a type of instance that may have more IPv6 addresses"},
	"InvalidVSwitch.Ipv6NotTurnOn":              {Code: heddle.BadArgument, Remedy: "turn IPv6 on for the vSwitch"},
	"InvalidOperation.AvailabilityZoneMismatch": {Code: heddle.BadArgument, Remedy: "name a vSwitch of the instance's zone in the file of --nic-cloud"},
	"InvalidOperation.VpcMismatch":              {Code: heddle.BadArgument, Remedy: "name a vSwitch of the instance's VPC in the file of --nic-cloud"},
	"InvalidIp.Address":                         {Code: heddle.BadAddress, Remedy: noAddress},
	"InvalidIp.IpAssigned":                      {Code: heddle.AddressTaken, Remedy: "name another address, or leave it out; if none was named, try again: the cloud may choose another one"},
	"InvalidIp.IpRepeated":                      {Code: heddle.AddressTaken, Remedy: "name another address, or leave it out"},
	"InvalidPrivateIpAddress.Duplicated":        {Code: heddle.AddressTaken, Remedy: "name another address, or leave it out"},
	"InvalidVSwitchId.NotFound":                 {Code: heddle.BadArgument, Remedy: "correct the vSwitch in the file of --nic-cloud"},
	"InvalidSecurityGroupId.NotFound":           {Code: heddle.BadArgument, Remedy: "correct the security groups in the file of --nic-cloud"},
	"Forbidden.RAM":                             {Code: heddle.NICNotGranted, Remedy: "give the instance's RAM role the right to this action; docs/guides/cloud-nics.md lists all"},
	"InvalidSecurityToken.Expired":              {Code: heddle.NICNotGranted, Remedy: "look whether the machine's clock is right"},
	"IllegalTimestamp":                          {Code: heddle.NICNotGranted, Remedy: "look whether the machine's clock is right"},
}
