// Package law_test keeps the import law: which room may know which.
package law_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/heddle-network/heddle"

// rule allows a room's imports; whatever is not allowed is banned, for the
// reason given.
type rule struct {
	// room is a folder, with its subfolders; with "/*", these alone.
	room   string
	allow  []string // prefixes of import paths, besides the standard library
	reason string
}

var rules = []rule{
	{"agent", []string{module, module + "/cluster", module + "/commands", module + "/dhcp", module + "/events", module + "/firewall", module + "/havip", module + "/ipam", module + "/kernel", module + "/kernel/coexist", module + "/mode/parts", module + "/names", module + "/nic", module + "/path", module + "/peer", module + "/ping", module + "/policy", module + "/resolver/nameservers", module + "/resolver/process", module + "/store", module + "/trial", module + "/vpcroute", "go.etcd.io/bbolt", "golang.org/x/sys", "github.com/prometheus/client_golang"},
		"the agent orchestrates the rooms below; doors call it, modes are passed in, of which it knows what all have in common"},
	{"bench", []string{module, module + "/limit", "golang.org/x/perf", "github.com/jedib0t/go-pretty", "github.com/vbauerster/mpb", "golang.org/x/term", "golang.org/x/sys"},
		"the benchmark is given places to run in, and knows neither agent nor kernel"},
	{"limit", []string{module}, "a condition on figures is the same whatever they are of"},
	{"cluster", []string{module, module + "/durable", module + "/ipam", module + "/names", module + "/path", module + "/store"}, "what hosts agree on needs the record they share, and nothing of the kernel"},
	{"join", []string{module, module + "/cluster", module + "/durable", module + "/store", "go.etcd.io/etcd"}, "who belongs to a cluster is decided before there is an agent"},
	{"peer", []string{module, "golang.org/x/net", "golang.org/x/sys"}, "looking at other hosts changes nothing on this one"},
	{"ping", []string{module, module + "/path", "golang.org/x/net", "github.com/miekg/dns"}, "who sends echoes opens the socket, and tells what is known of both ends"},
	{"store", []string{module, "go.etcd.io/etcd", "google.golang.org/grpc", "github.com/grpc-ecosystem/go-grpc-middleware", "go.uber.org/zap"}, "the record is keys and values; what they mean is agreed elsewhere"},
	{"doctor", []string{module, module + "/firewall", module + "/kernel", module + "/kernel/coexist", module + "/path", module + "/trial", module + "/lab", module + "/door/client", module + "/names", module + "/resolver/process", "golang.org/x/sys"},
		"the doctor looks at the host by itself, for the agent may be down or the patient; it calls the agent as every program does"},
	{"door/client", []string{module, module + "/events", module + "/havip", module + "/names", module + "/ping", module + "/policy", module + "/vpcroute"}, "a program that calls an agent must not contain one"},
	{"door", []string{module, module + "/agent", module + "/door", module + "/durable", module + "/events", module + "/havip", module + "/names", module + "/ping", module + "/policy", module + "/vpcroute", "golang.org/x/sys", "github.com/containernetworking/cni"},
		"a door translates requests for the agent; wiring is none of its business"},
	{"door/wire", []string{module}, "how JSON is read and answered is the same for every server"},
	{"lazyregexp", nil, "it stands for package regexp, everywhere"},
	{"durable", nil, "files are written by rooms that know nothing of each other"},
	{"events", []string{module}, "what happened is told and read without knowing who made it happen"},
	{"ipam", []string{module}, "addresses are arithmetic"},
	{"dhcp", []string{module, "github.com/insomniacslk/dhcp", "github.com/mdlayher/ndp"}, "what a lease means is decided without a LAN: that is passed in"},
	{"bpf", []string{module, "github.com/cilium/ebpf"}, "the fast path is given what it knows; who wants it, and where it hangs, is the interpreter's"},
	{"ethtool", []string{"golang.org/x/sys"}, "an interface's offloads are asked for by interpreter, lab and crowd, which know nothing of each other"},
	{"kernel", []string{module, module + "/bpf", module + "/ethtool", module + "/firewall", module + "/frames", module + "/kernel", "github.com/cilium/ebpf", "github.com/vishvananda", "github.com/google/nftables", "github.com/coreos/go-iptables", "github.com/mdlayher", "github.com/florianl/go-nflog", "golang.org/x/net/bpf", "golang.org/x/sys"},
		"the interpreter knows plans, not who made them"},
	{"kernel/coexist", []string{module, "github.com/vishvananda", "github.com/google/nftables", "github.com/coreos/go-iptables", "golang.org/x/sys"},
		"other firewalls are met without plans"},
	{"kernel/fake", []string{module, module + "/kernel", "golang.org/x/sys/unix"}, "the kernel in memory has the kernel's words, and touches none"},
	{"impair", []string{module}, "what happens to frames is the same wherever they come from"},
	{"frames", []string{module + "/impair", "github.com/vishvananda/netlink", "golang.org/x/sync", "golang.org/x/sys"}, "frames are read and written for whoever relays them"},
	{"lab", []string{module, module + "/ethtool", module + "/frames", module + "/impair", module + "/lab/boot", "github.com/vishvananda", module + "/yamlfile", "golang.org/x/sys", "github.com/klauspost/cpuid"}, "a lab makes hosts, not endpoints"},
	{"yamlfile", []string{"go.yaml.in/yaml/v3"}, "how files of people are read is the same for all of them, whatever they say"},
	{"crowd/draw", nil, "what is drawn depends on seed and names alone"},
	{"crowd/scenario", []string{module, module + "/crowd/draw", module + "/impair", module + "/yamlfile", "go.yaml.in/yaml/v3"}, "people are data; who plans with it, and plays it, is another matter"},
	{"crowd/ghosts", []string{module, module + "/crowd/scenario", "github.com/tailscale/hujson", "go.yaml.in/yaml/v3"}, "what another simulator says becomes a scenario, and nothing else"},
	{"crowd/plan", []string{module, module + "/crowd/draw", module + "/crowd/scenario"}, "a plan is drawn without a machine: what a machine bears is passed in"},
	{"crowd/socket", []string{"golang.org/x/sys"}, "a socket in a namespace is the same for whoever uses it"},
	{"crowd/capture", []string{module + "/crowd/socket", module + "/frames", module + "/impair", "github.com/gopacket/gopacket"}, "packets are written down without knowing what they mean"},
	{"crowd/link", []string{module, module + "/bpf", module + "/crowd/scenario", module + "/crowd/socket", module + "/ethtool", module + "/frames", module + "/impair", "github.com/vishvananda/netlink", "golang.org/x/sys"}, "a link is put into a user's namespace, whatever network that is on"},
	{"crowd/payload", nil, "bytes are bytes, whatever protocol has them"},
	{"crowd/service", []string{module + "/crowd/payload"}, "the built-in service knows sizes, not people"},
	{"crowd/protocol", []string{module + "/crowd/payload", module + "/crowd/scenario", module + "/crowd/service", "github.com/miekg/dns", "github.com/quic-go/quic-go", "golang.org/x/crypto"}, "what is on the wire does not depend on who asks, nor on which program answers"},
	{"crowd/container", []string{module + "/crowd/socket", "golang.org/x/net", "golang.org/x/sys"}, "a container knows a program's files, not what it is for"},
	{"crowd/script", []string{module, module + "/crowd/container", module + "/crowd/scenario", module + "/crowd/socket", "golang.org/x/sys"}, "a script is asked whatever plan asks"},
	{"crowd/program", []string{module, module + "/crowd/container", module + "/crowd/draw", module + "/crowd/protocol", module + "/crowd/scenario", "go4.org/netipx", "golang.org/x/crypto"}, "a program is configured without a network"},
	{"crowd/voice", nil, "how a call sounded follows from its packets"},
	{"crowd/tally", []string{"github.com/HdrHistogram"}, "what is counted does not depend on how it came about"},
	{"crowd/diary", []string{module, module + "/crowd/plan", module + "/crowd/scenario"}, "what happened is written down without knowing who made it happen"},
	{"crowd/label", []string{module, module + "/crowd/diary", "github.com/gopacket/gopacket"}, "what packets mean is read from a diary, wherever they were captured"},
	{"crowd/event", []string{module, module + "/crowd/diary", module + "/crowd/scenario"}, "when something happens is decided without knowing how it is done"},
	{"crowd/classifier", []string{module, module + "/bench", module + "/crowd/diary", module + "/crowd/draw", module + "/crowd/plan", module + "/crowd/scenario", module + "/crowd/tally", "gonum.org/v1/gonum"}, "whether a crowd is as its scenario says is read from a diary, whoever played it"},
	{"crowd/machine", []string{module, module + "/crowd/diary"}, "what parts of a crowd ask each other does not depend on who plays them"},
	{"crowd/play", []string{module + "/crowd/diary", module + "/crowd/machine", module + "/crowd/plan", module + "/crowd/protocol", module + "/crowd/scenario", module + "/crowd/socket", module + "/crowd/tally", module + "/crowd/voice", "github.com/miekg/dns"}, "people are played wherever they have been put"},
	{"crowd/engine", []string{module, module + "/door/client", module + "/resolver/nameservers", "golang.org/x/sync", "golang.org/x/sys"}, "a client makes a container for whoever is in it"},
	{"crowd/stage", []string{module, module + "/crowd/capture", module + "/crowd/container", module + "/crowd/engine", module + "/crowd/link", module + "/crowd/machine", module + "/crowd/play", module + "/crowd/program", module + "/crowd/protocol", module + "/crowd/scenario", module + "/crowd/service", module + "/crowd/socket", module + "/door/client", module + "/lab", module + "/names", "golang.org/x/sync", "golang.org/x/sys"}, "users are attached by the agent, as everybody is"},
	{"crowd/round", []string{module, module + "/bench", module + "/crowd/capture", module + "/crowd/diary", module + "/crowd/engine", module + "/crowd/event", module + "/crowd/link", module + "/crowd/machine", module + "/crowd/plan", module + "/crowd/play", module + "/crowd/scenario", module + "/crowd/script", module + "/crowd/stage", module + "/crowd/tally", "golang.org/x/sys"}, "a round is played on a network that is there, whoever made it"},
	{"crowd/report", []string{module, module + "/bench", module + "/crowd/capture", module + "/crowd/diary", module + "/crowd/link", module + "/crowd/machine", module + "/crowd/round", module + "/crowd/scenario", module + "/crowd/tally", module + "/limit"}, "a report knows figures, and the benchmark's statistics"},
	{"crowd/picture", []string{module + "/crowd/report"}, "a picture shows what is in a report, and nothing else"},
	{"crowd/live", []string{module, module + "/crowd/diary", module + "/crowd/event", module + "/crowd/round", "golang.org/x/sys"}, "who looks on asks the run itself, and nobody else; so does who tells it something"},
	{"crowd/rig", []string{module, module + "/crowd/stage", module + "/door/client", module + "/lab"}, "a rig asks agents as every program does"},
	{"rig", []string{module, module + "/bench", module + "/door/client", module + "/impair", module + "/lab"}, "a rig asks agents as every program does; which flags and presets there are is the command's"},
	{"policy", []string{module, module + "/firewall", module + "/yamlfile"}, "what policies say, and the rules that come of it, is computed without a host"},
	{"vpcroute", []string{module, module + "/firewall"}, "where the routes of a VPC lead, and the rules that come of it, is computed without a host"},
	{"havip", []string{module, module + "/firewall", module + "/policy"}, "who may hold an address, and the rules that come of it, is computed without a host"},
	{"names", []string{module}, "which names there are is data, which agent and resolver share; what a DNS message is, it does not know"},
	{"resolver", []string{module, module + "/names", module + "/resolver/nameservers", module + "/resolver/process", "github.com/miekg/dns", "github.com/fsnotify/fsnotify", "golang.org/x/net/bpf", "golang.org/x/time", "golang.org/x/sys"},
		"the resolver lives without an agent and without a store: all that it knows is in files"},
	{"resolver/process", []string{module, "golang.org/x/sys"}, "who watches over the resolver needs none of its libraries"},
	{"resolver/nameservers", []string{"github.com/miekg/dns"}, "agent and resolver read which name servers the host has, and know nothing of each other"},
	{"nic", []string{module, module + "/door/client", module + "/door/wire", module + "/durable", module + "/events", module + "/frames", module + "/nic", module + "/vpc", module + "/yamlfile", "github.com/digitalocean/go-libvirt", "golang.org/x/net", "golang.org/x/time", "go4.org/netipx", "github.com/alibabacloud-go", "github.com/aliyun/credentials-go", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/cenkalti/backoff"},
		"NIC managers are told by files, providers by their own sockets"},
	{"nic/aliyun", []string{module, module + "/nic/eni", "go4.org/netipx", "github.com/alibabacloud-go", "github.com/aliyun/credentials-go"}, "a cloud's libraries are for the cloud alone"},
	{"nic/aws", []string{module, module + "/nic/eni", "go4.org/netipx", "github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"}, "a cloud's libraries are for the cloud alone"},
	{"nic/eni", []string{module, module + "/nic", module + "/yamlfile", "golang.org/x/time", "github.com/cenkalti/backoff"}, "what all clouds have in common knows none of them, and none of their libraries"},
	{"nic/libvirt", []string{module, module + "/nic", "github.com/digitalocean/go-libvirt"}, "a domain is plugged without knowing who asked"},
	{"vpc", []string{module, module + "/door/client", module + "/vpcroute", "golang.org/x/sys"}, "a VPC is a namespace and folders, and its agent is asked as by every program"},
	{"nic/ports", []string{module, module + "/door/client", module + "/events", module + "/frames", module + "/nic", module + "/vpc"}, "ports are made by the agent, which is asked as by every program"},
	{"nic/remote", []string{module, module + "/nic"}, "a program that asks for NICs must not contain what plugs them"},
	{"nic/service", []string{module, module + "/door/wire", module + "/durable", module + "/nic", module + "/yamlfile", "golang.org/x/net", "golang.org/x/time"},
		"the service is given agent and machines as interfaces"},
	{"trial", []string{module, module + "/firewall", module + "/kernel", module + "/mode/parts", module + "/path"}, "a trial uses a mode on a throw-away host: agent and doctor need it, and it needs neither"},
	{"mode", []string{module, module + "/firewall", module + "/mode", module + "/path"}, "the list of the modes is for the programs, which pass it to agent and doctor"},
	{"mode/*", []string{module, module + "/firewall", module + "/mode/parts", module + "/path"}, "modes are pure, so that their plans can be printed, compared and tested without root"},
	{"mode/parts", []string{module, module + "/firewall"}, "what modes have in common knows none of them"},
	{"path", []string{module, module + "/firewall"}, "a path is planned like a mode: without root, and without knowing who uses it"},
	{"firewall", []string{module}, "the rules are data: modes name them, the interpreter makes them"},
	{"commands", []string{module, module + "/firewall"}, "plans are written for people without knowing who made them, or who makes what they say"},
	{"cmd/heddle-cni", []string{"golang.org/x/sys"}, "a runtime starts it for every container: each import costs start-up time"},
}

// onlyKernel may be imported by room kernel alone, besides the exceptions.
var onlyKernel = map[string][]string{
	"github.com/google/nftables":         nil,
	"github.com/coreos/go-iptables":      nil,
	"github.com/vishvananda/netlink":     {"lab", "crowd/link", "frames"}, // wires of its own, between hosts; links of its own, to users; how many queues of a TAP are open
	"github.com/vishvananda/netns":       {"lab"},
	"github.com/cilium/ebpf":             {"bpf"},
	"github.com/containernetworking/cni": {"door/cni"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

// isStandard reports whether a package is the standard library's, or package regexp's other form, which knows nothing else.
func isStandard(path string) bool {
	return !strings.Contains(strings.Split(path, "/")[0], ".") || path == module+"/lazyregexp"
}

func under(path, prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") }

func TestImportLaw(t *testing.T) {
	for _, p := range list(t) {
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, imported := range p.Imports {
			if isStandard(imported) {
				continue
			}
			if room == "" {
				t.Errorf("the root package imports %s: it holds the nouns that everything knows, and knows the standard library only", imported)
			}
			for _, r := range rules {
				if r.about(room) && !allowed(imported, r.allow) {
					t.Errorf("%s imports %s: %s", room, imported, r.reason)
				}
			}
			checkOnlyKernel(t, room, imported)
		}
	}
}

func (r rule) about(room string) bool {
	if above, below := strings.CutSuffix(r.room, "/*"); below {
		return strings.HasPrefix(room, above+"/")
	}
	return under(room, r.room)
}

// allowed compares exactly within the module, by prefix outside.
func allowed(imported string, allow []string) bool {
	for _, a := range allow {
		if imported == a || (a != module && under(imported, a)) {
			return true
		}
	}
	return false
}

func checkOnlyKernel(t *testing.T, room, imported string) {
	for library, others := range onlyKernel {
		if !under(imported, library) || under(room, "kernel") || under(room, "test") {
			continue
		}
		ok := false
		for _, o := range others {
			ok = ok || under(room, o)
		}
		if !ok {
			t.Errorf("%s imports %s: only package kernel talks to the kernel", room, imported)
		}
	}
}

// TestNoInit bans init functions: registries and side effects of an import
// cannot be seen where the program is put together.
func TestNoInit(t *testing.T) {
	out, err := exec.Command("git", "-C", filepath.Join("..", ".."), "grep", "-nE", `^func init\(\)`, "--", "*.go", ":!*_test.go").CombinedOutput()
	if len(out) > 0 {
		t.Errorf("init functions:\n%s", out)
	}
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		t.Fatal(err, string(out))
	}
}

// A TestMain that runs the tests in another process, and does not exit with its
// status, passes whatever they found.
func TestMainExits(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		_, body, found := strings.Cut(string(text), "\nfunc Test"+"Main(m *testing.M) {")
		body, _, _ = strings.Cut(body, "\nfunc ")
		if found && !strings.Contains(body, "os.Exit(") {
			t.Errorf("%s: TestMain does not call os.Exit", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGuestsListed: make test leaves no guest out. Its run of guests is of the tests whose
// names have the word InGuests, in the packages that the Makefile lists.
func TestGuestsListed(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nGUESTS ")
	list, _, _ = strings.Cut(list, "\n#")
	listed := strings.Fields(list)
	found := 0
	boots := regexp.MustCompile(`\.(RunInGuests?|RunEverywhere)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, f := range strings.Split(string(text), "\nfunc ")[1:] {
			name, _, _ := strings.Cut(f, "(")
			if !strings.HasPrefix(name, "Test") || !boots.MatchString(f) {
				continue
			}
			found++
			if !strings.Contains(name, "InGuests") {
				t.Errorf("%s: %s boots guests and is not named InGuests", path, name)
			}
			if dir := strings.TrimPrefix(filepath.Dir(path), root); !slices.Contains(listed, "."+dir) {
				t.Errorf("%s boots guests, and .%s is not in the Makefile's GUESTS", path, dir)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no test that boots guests was found")
	}
}

// TestGuidesIndexed: the index names every guide, and no link of a text leads nowhere.
func TestGuidesIndexed(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	listed, count := map[string]bool{}, 0
	texts := []string{"../../README.md", "../../ARCHITECTURE.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, more...)
	}
	for _, path := range texts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			count++
			to := filepath.Join(filepath.Dir(path), m[1])
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
			if strings.HasSuffix(path, "guides/README.md") {
				listed[to] = true
			}
		}
	}
	guides, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil || len(guides) < 15 || count < 100 {
		t.Fatal(err, len(guides), count)
	}
	for _, path := range guides {
		if !strings.HasSuffix(path, "README.md") && !listed[path] {
			t.Errorf("%s is not in docs/guides/README.md", path)
		}
	}
}
