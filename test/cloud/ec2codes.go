package cloud

import (
	"errors"
	"net/http"
)

// ec2Codes are the failures of the tables in EC2's words (EC2 Developer Guide, "Error codes").
var ec2Codes = map[string]failure{
	"ServiceUnavailable":                 {http.StatusServiceUnavailable, "Unavailable", ""},
	"SignatureDoesNotMatch":              {http.StatusUnauthorized, "AuthFailure", ""},
	"Throttling.User":                    {http.StatusServiceUnavailable, "RequestLimitExceeded", ""},
	"InvalidAction.NotFound":             {http.StatusBadRequest, "InvalidAction", ""},
	"InvalidVSwitchId.NotFound":          {http.StatusBadRequest, "InvalidSubnetID.NotFound", ""},
	"InvalidVSwitchId.IpNotEnough":       {http.StatusBadRequest, "InsufficientFreeAddressesInSubnet", ""},
	"TooFewForPrefix":                    {http.StatusBadRequest, "InvalidParameterValue", "There aren't sufficient free Ipv4 addresses or prefixes"},
	"NoFreePrefix":                       {http.StatusBadRequest, "InsufficientCidrBlocks", "The specified subnet does not have enough free cidr blocks to satisfy the request."},
	"InvalidIp.Address":                  {http.StatusBadRequest, "InvalidParameterValue", "Address does not fall within the subnet's address range"},
	"InvalidIp.IpAssigned":               {http.StatusBadRequest, "InvalidIPAddress.InUse", ""},
	"InvalidIp.IpUnassigned":             {http.StatusBadRequest, "InvalidParameterValue", "Some of the specified addresses are not assigned to interface"},
	"InvalidEniId.NotFound":              {http.StatusBadRequest, "InvalidNetworkInterfaceID.NotFound", ""},
	"CurrentlyInUse":                     {http.StatusBadRequest, "InvalidParameterValue", "Network interface is currently in use."}, // aws/amazon-vpc-cni-k8s, issue 1399
	"InvalidOperation.InvalidEniState":   {http.StatusBadRequest, "IncorrectState", ""},
	"EniPerInstanceLimitExceeded":        {http.StatusBadRequest, "AttachmentLimitExceeded", ""},
	"InvalidOperation.Ipv4CountExceeded": {http.StatusBadRequest, "PrivateIpAddressLimitExceeded", ""},
	"InvalidOperation.Ipv6CountExceeded": {http.StatusBadRequest, "PrivateIpAddressLimitExceeded", ""},
}

// busy is the error of a call that needs a NIC that nothing has, with that code.
func busy(err error, code string) error {
	var known failure
	if errors.As(err, &known) && known.code == "InvalidOperation.InvalidEniState" {
		return fail(code)
	}
	return err
}
