package aws

import (
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
)

// TestStates: the API's two words have one meaning, and what is not known, or not said, has the cloud be busy with the NIC.
func TestStates(t *testing.T) {
	for _, x := range []struct {
		status, attached, id string
		want                 eni.State
	}{
		{"available", "", "", eni.Free},
		{"pending", "", "", eni.Busy},
		{"a new word", "", "", eni.Busy},
		{"in-use", "", "", eni.Busy}, // nothing is said of an attachment
		{"in-use", "attached", "", eni.Busy},
		{"in-use", "attaching", "a", eni.Attaching},
		{"in-use", "attached", "a", eni.Attached},
		{"in-use", "detaching", "a", eni.Detaching},
		{"in-use", "detached", "a", eni.Busy},
		{"in-use", "a new word", "a", eni.Busy},
		{"detaching", "attached", "a", eni.Busy},
	} {
		n := types.NetworkInterface{Status: types.NetworkInterfaceStatus(x.status)}
		if x.attached != "" {
			n.Attachment = &types.NetworkInterfaceAttachment{Status: types.AttachmentStatus(x.attached), InstanceId: aws.String(me)}
		}
		if x.id != "" {
			n.Attachment.AttachmentId = aws.String(x.id)
		}
		if got := nicOf(n); got.State != x.want || got.Attachment != x.id {
			t.Errorf("%+v: %+v", x, got)
		}
	}
}

// TestFreeIndex: the lowest index is taken that is nobody's.
func TestFreeIndex(t *testing.T) {
	if i := freeIndex(nil); i != 1 {
		t.Error(i)
	}
	at := func(i int32) types.NetworkInterface {
		return types.NetworkInterface{Attachment: &types.NetworkInterfaceAttachment{DeviceIndex: aws.Int32(i)}}
	}
	other := at(5)
	other.Attachment.NetworkCardIndex = aws.Int32(1)
	if nicOf(at(5)).Apart || !nicOf(other).Apart {
		t.Error("a NIC of another network card counts, or one of the first does not")
	}
	if i := freeIndex([]types.NetworkInterface{at(1), at(4), other, {}}, map[int32]bool{2: true}, map[int32]bool{3: true}); i != 5 {
		t.Error(i)
	}
}

// TestMade: of two NICs that were ordered one after the other the tag of the later one is greater, in the same second, too.
func TestMade(t *testing.T) {
	second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := ""
	for _, d := range []time.Duration{0, 1, 100 * time.Millisecond, 120 * time.Millisecond, 123 * time.Millisecond, time.Second} {
		if now := second.Add(d).Format(madeForm); now <= last {
			t.Errorf("%s comes after %s", now, last)
		} else {
			last = now
		}
	}
}

// TestFailure: what a code means that is said with certain words, or is one of several.
func TestFailure(t *testing.T) {
	for _, x := range []struct {
		code, message string
		want          eni.Fault
	}{
		{"RequestLimitExceeded", "", eni.Throttled},
		{"ThrottlingException", "", eni.Throttled},
		{"InvalidParameterValue", "Network interface 'eni-1' is currently in use.", eni.Changing},
		{"InvalidParameterValue", "Address does not fall within the subnet's address range", eni.Refused},
		{"InvalidNetworkInterfaceID.NotFound", "", eni.Gone},
	} {
		said := &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest}},
			Err: &smithy.GenericAPIError{Code: x.code, Message: x.message}}
		if f := failure(said); f.Fault != x.want || f.Code != x.code {
			t.Errorf("%+v: %+v", x, f)
		}
	}
}

// TestTake: an index is one order's until that has ended.
func TestTake(t *testing.T) {
	c := &cloud{taking: map[int32]bool{}}
	one, end := c.take(nil, nil)
	two, _ := c.take(nil, nil)
	end()
	again, _ := c.take(nil, nil)
	if one != 1 || two != 2 || again != 1 {
		t.Error(one, two, again)
	}
}

// TestSubnet: the first four IPv4 addresses and the last one are the cloud's, and the IPv6 router is in no subnet.
func TestSubnet(t *testing.T) {
	s := subnet(netip.MustParsePrefix("192.0.2.128/25"), netip.MustParsePrefix("2001:db8::/64"))
	if s.First.String() != "192.0.2.132" || s.Last.String() != "192.0.2.254" || s.Gateway4.String() != "192.0.2.129" || s.Gateway6 != router6 {
		t.Errorf("%+v", s)
	}
	if alone := subnet(netip.Prefix{}, s.V6); alone.Gateway4.IsValid() || alone.First.IsValid() || alone.Gateway6 != router6 {
		t.Errorf("%+v", alone)
	}
}

// TestSmall: no type that a value of an interface leads to has the library's client, of which the linker would keep all methods.
func TestSmall(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(x reflect.Type) {
		if seen[x] {
			return
		}
		seen[x] = true
		switch x.Kind() {
		case reflect.Struct:
			for i := range x.NumField() {
				walk(x.Field(i).Type)
			}
		case reflect.Func:
			for i := range x.NumIn() {
				walk(x.In(i))
			}
			for i := range x.NumOut() {
				walk(x.Out(i))
			}
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array, reflect.Chan:
			walk(x.Elem())
		}
	}
	walk(reflect.TypeFor[*cloud]())
	if !seen[reflect.TypeFor[ec2.Options]()] || seen[reflect.TypeFor[ec2.Client]()] {
		t.Errorf("of %d types the library's client is one: heddled would be 40 MB larger", len(seen))
	}
}

// TestConfigPrefixes: addresses come by prefixes if the file says so.
func TestConfigPrefixes(t *testing.T) {
	for text, want := range map[string]bool{"": false, "prefixes: true, ": true, "prefixes: false, ": false} {
		file := filepath.Join(t.TempDir(), "cloud.yaml")
		cell.Must(t, os.WriteFile(file, []byte("aws: {"+text+"networks: {lan: {subnet: subnet-1, securityGroups: [sg-1]}}}\n"), 0o600))
		c, err := open(file)
		cell.Must(t, err)
		if c.settings().Prefixes != want {
			t.Errorf("%q", text)
		}
	}
}

// TestConfig: what a file says wrongly is told with its place.
func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"aliyun: {}\n":          "aliyun",
		"aws: {networks: {}}\n": "networks",
		"aws: {networks: {lan: {subnet: vsw-1, securityGroups: [sg-1]}}}\n":                       "no ID of a subnet",
		"aws: {networks: {lan: {subnet: subnet-1}}}\n":                                            "security group",
		"aws: {networks: {lan: {subnet: subnet-1, securityGroups: [sg-1, sg-1]}}}\n":              "twice",
		"aws: {mtu: 900, networks: {lan: {subnet: subnet-1, securityGroups: [sg-1]}}}\n":          "no MTU",
		"aws: {nics: -1, networks: {lan: {subnet: subnet-1, securityGroups: [sg-1]}}}\n":          "no number of NICs",
		"aws: {prefixes: perhaps, networks: {lan: {subnet: subnet-1, securityGroups: [sg-1]}}}\n": "give true or false",
		"aws:\n": "it names no cloud",
		"aws: {networks: {lan: {subnet: subnet-1, securityGroups: [sg-1]}}, ec2: \"http://x\"}\n": "no host",
	} {
		file := filepath.Join(t.TempDir(), "cloud.yaml")
		cell.Must(t, os.WriteFile(file, []byte(text), 0o600))
		if _, err := Open(file); heddle.BadArgument.In(err) == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
