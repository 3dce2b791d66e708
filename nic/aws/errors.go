package aws

import (
	"errors"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
)

// failure says what an error of the API means.
func failure(err error) eni.Failure {
	f := eni.Failure{Err: err, Fault: eni.Away}
	var known smithy.APIError
	if !errors.As(err, &known) {
		return f
	}
	f.Code, f.Message = known.ErrorCode(), known.ErrorMessage()
	var answer *smithyhttp.ResponseError
	switch {
	case throttled(f.Code):
		f.Fault = eni.Throttled
	case f.Code == "IncorrectState" || f.Code == "IncorrectInstanceState" || f.Code == "InvalidNetworkInterface.InUse" || inUse(f):
		f.Fault = eni.Changing
	case f.Code == "InvalidNetworkInterfaceID.NotFound" || f.Code == "InvalidAttachmentID.NotFound":
		f.Fault = eni.Gone
	case f.Code == "UnauthorizedOperation" || f.Code == "AuthFailure" || f.Code == "SignatureDoesNotMatch":
		f.Fault = eni.Forbidden
	case errors.As(err, &answer) && answer.HTTPStatusCode() < http.StatusInternalServerError:
		f.Fault = eni.Refused
	}
	return f
}

// throttled reports whether a code is one of being asked too often: RequestLimitExceeded (EC2 Developer Guide, "Request throttling"), or another that the library knows.
func throttled(code string) bool {
	_, is := retry.DefaultThrottleErrorCodes[code]
	return is
}

// inUse reports whether a NIC cannot be deleted since it is not detached everywhere yet (aws/amazon-vpc-cni-k8s, issue 1399).
func inUse(f eni.Failure) bool { return badValue(f, "is currently in use") }

// indexTaken reports whether an interface has the device index already (cilium/cilium, pull request 8471).
func indexTaken(err error) bool { return badValue(err, "already has an interface attached at device") }

// notAssigned reports whether the interface has no such address (Netflix/titus-executor, vpc/service). No source was found for IPv6: with another word the
// call is refused, and the list is looked at again.
func notAssigned(err error) bool { return badValue(err, "are not assigned to interface") }

// noneFree reports whether the subnet has too few free addresses for a prefix. If it has enough, and no 16 of them that a prefix can have, the code is InsufficientCidrBlocks
// (cilium/cilium, pull request 31016).
func noneFree(err error) bool {
	return badValue(err, "sufficient free Ipv4 addresses or prefixes")
}

// badValue reports whether a parameter was refused with certain words: the code alone does not tell for what.
func badValue(err error, words string) bool {
	var f eni.Failure
	return errors.As(err, &f) && f.Code == "InvalidParameterValue" && strings.Contains(f.Message, words)
}

// remedies are for codes of the API that a person can do something about (EC2 Developer Guide, "Error codes").
var remedies = map[string]eni.Remedy{
	"AttachmentLimitExceeded":                 {Code: heddle.NoSlot, Remedy: eni.NoSlot},
	"NetworkInterfaceLimitExceeded":           {Code: heddle.NICNotGranted, Remedy: "ask the cloud for a larger quota of NICs, or detach endpoints"},
	"SecurityGroupsPerInterfaceLimitExceeded": {Code: heddle.NICNotGranted, Remedy: "name fewer security groups in the file of --nic-cloud"},
	"PrivateIpAddressLimitExceeded":           {Code: heddle.NICNotGranted, Remedy: "detach endpoints, or use a type of instance that may have more addresses"},
	"InvalidInterface.IpAddressLimitExceeded": {Code: heddle.NICNotGranted, Remedy: "detach endpoints, or use a type of instance that may have more addresses"},
	"InsufficientFreeAddressesInSubnet":       {Code: heddle.PoolExhausted, Remedy: "detach endpoints, or name another subnet in the file of --nic-cloud"},
	"InsufficientCidrBlocks":                  {Code: heddle.PoolExhausted, Remedy: "reserve a part of the subnet for prefixes, or name another subnet in the file of --nic-cloud"},
	"InvalidIPAddress.InUse":                  {Code: heddle.AddressTaken, Remedy: "name another address, or leave it out"},
	"InvalidSubnetID.NotFound":                {Code: heddle.BadArgument, Remedy: "correct the subnet in the file of --nic-cloud"},
	"InvalidSecurityGroupID.NotFound":         {Code: heddle.BadArgument, Remedy: "correct the security groups in the file of --nic-cloud"},
	"UnauthorizedOperation":                   {Code: heddle.NICNotGranted, Remedy: "give the instance's role the right to this action; docs/guides/cloud-nics.md lists all"},
	"AuthFailure":                             {Code: heddle.NICNotGranted, Remedy: "correct the instance's role"},
	"SignatureDoesNotMatch":                   {Code: heddle.NICNotGranted, Remedy: "correct the instance's role"},
	"RequestExpired":                          {Code: heddle.NICNotGranted, Remedy: "look whether the machine's clock is right"},
}
