package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/docker"
	"github.com/heddle-network/heddle/door/docker/reconcile"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/path"
)

// config is the agent's configuration: flags, over the file, over the defaults.
type config struct {
	Name        string `json:"name,omitempty"`
	StateDir    string `json:"stateDir,omitempty"`
	RunDir      string `json:"runDir,omitempty"`
	SocketGroup string `json:"socketGroup,omitempty"`
	Metrics     string `json:"metrics,omitempty"`
	// DockerSocket is a path, "none", or empty for Docker's own folder.
	DockerSocket string `json:"dockerSocket,omitempty"`
	// DockerHost is an address, "none", or empty for the usual one.
	DockerHost string `json:"dockerHost,omitempty"`
	// DockerDriver is what dockerd calls this agent, empty for heddle.
	DockerDriver string `json:"dockerDriver,omitempty"`
	LogLevel     string `json:"logLevel,omitempty"`
	LogFormat    string `json:"logFormat,omitempty"`
	FastPath     string `json:"fastPath,omitempty"`
	Resolver     string `json:"resolver,omitempty"`
	// ResolverForward are domains with name servers of their own: DOMAIN=ADDR,…
	ResolverForward []string `json:"resolverForward,omitempty"`

	Store     string `json:"store,omitempty"`
	StoreCA   string `json:"storeCA,omitempty"`
	StoreCert string `json:"storeCert,omitempty"`
	StoreKey  string `json:"storeKey,omitempty"`
	Join      string `json:"join,omitempty"`
	// Token is used only if others cannot read the file. TokenFile is a path, or "-" for
	// standard input.
	Token      string `json:"token,omitempty"`
	TokenFile  string `json:"tokenFile,omitempty"`
	Underlay   string `json:"underlay,omitempty"`
	TunnelPort uint16 `json:"tunnelPort,omitempty"`
	// ClusterRanges are prefixes, separated by commas.
	ClusterRanges string `json:"clusterRanges,omitempty"`
	// NICGrant is a file by which NICs are plugged into this machine.
	NICGrant string `json:"nicGrant,omitempty"`
	// NICCloud is a file by which the agent orders NICs of a cloud.
	NICCloud string `json:"nicCloud,omitempty"`
	// VPC is the VPC whose agent this is; "" for the host's own.
	VPC string `json:"vpc,omitempty"`
	// ForceNewStore is for one start, so the file cannot have it.
	ForceNewStore bool `json:"-"`
	// TokenFD is a descriptor that the token is read from, or -1.
	TokenFD int `json:"-"`
	// forwards are what ResolverForward says.
	forwards []names.Forward
	// tokenExposed is set if others can read the token in the file; tokenError is set if a
	// member of a cluster has a token that cannot be read.
	tokenExposed, tokenError error
}

func defaultConfig() config {
	return config{StateDir: "/var/lib/heddle", RunDir: "/run/heddle", TunnelPort: path.Default().Port(), TokenFD: -1, LogLevel: "info", LogFormat: "text", FastPath: "auto", Resolver: "gateway"}
}

func newCommand(run func(context.Context, config) error) *cobra.Command {
	flags := defaultConfig()
	file := ""
	cmd := &cobra.Command{
		Use:   "heddled",
		Short: "the heddle agent of this host",
		Long: `heddled gives the containers of this host their networks. It keeps what it made
when it stops, and takes it up again when it starts.

With a store it shares networks with other hosts. The first host founds a cluster
with --store embedded; the others --join it with a token, which 'heddle host token
--out FILE' makes there. It is read from --token-file or --token-fd, or from the
configuration (token, tokenFile), and refused where others than its owner can read
it. A host that belongs to a cluster goes on with it, with or without these flags,
unless it is told --store none. An etcd that is there already is used
with --store etcd://HOST:PORT,… and its certificates (etcd+insecure:// without).

An embedded store that has lost most of its members for good goes on from one that
is left: started once with --force-new-store, it drops the others and keeps all
hosts and networks. The dropped must not start again before that.

The configuration file is YAML with the keys name, stateDir, runDir, socketGroup,
dockerSocket, dockerHost, dockerDriver, metrics, logLevel, logFormat, fastPath, resolver, resolverForward,
store, storeCA, storeCert, storeKey, join, token, tokenFile, underlay, tunnelPort,
clusterRanges, nicGrant, nicCloud and vpc; flags win over it.

With --vpc it is the agent of a VPC, and not of the host: it works in a network
namespace of the VPC's own, which it makes, with folders of its own. Networks of
different VPCs may have the same addresses ('heddle nic serve --help').`,
		Example: "  heddled --metrics 127.0.0.1:9468\n  heddled --config /etc/heddle/heddled.yaml\n" +
			"  heddled --store embedded --underlay eth0\n  heddled --join 192.0.2.1 --token-file join.token\n" +
			"  heddled --store embedded --force-new-store",
		Version:       heddle.Version,
		Args:          cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(file)
			if err != nil {
				return err
			}
			for name, value := range map[string][2]*string{
				"name": {&c.Name, &flags.Name}, "state-dir": {&c.StateDir, &flags.StateDir}, "run-dir": {&c.RunDir, &flags.RunDir},
				"socket-group": {&c.SocketGroup, &flags.SocketGroup}, "metrics": {&c.Metrics, &flags.Metrics}, "docker-socket": {&c.DockerSocket, &flags.DockerSocket},
				"docker-host": {&c.DockerHost, &flags.DockerHost}, "docker-driver": {&c.DockerDriver, &flags.DockerDriver},
				"log-level": {&c.LogLevel, &flags.LogLevel}, "log-format": {&c.LogFormat, &flags.LogFormat},
				"store": {&c.Store, &flags.Store}, "store-ca": {&c.StoreCA, &flags.StoreCA}, "store-cert": {&c.StoreCert, &flags.StoreCert},
				"store-key": {&c.StoreKey, &flags.StoreKey}, "join": {&c.Join, &flags.Join}, "token-file": {&c.TokenFile, &flags.TokenFile},
				"underlay": {&c.Underlay, &flags.Underlay}, "fast-path": {&c.FastPath, &flags.FastPath}, "resolver": {&c.Resolver, &flags.Resolver},
				"cluster-ranges": {&c.ClusterRanges, &flags.ClusterRanges}, "nic-grant": {&c.NICGrant, &flags.NICGrant},
				"nic-cloud": {&c.NICCloud, &flags.NICCloud}, "vpc": {&c.VPC, &flags.VPC},
			} {
				if cmd.Flags().Changed(name) {
					*value[0] = *value[1]
				}
			}
			if cmd.Flags().Changed("tunnel-port") {
				c.TunnelPort = flags.TunnelPort
			}
			if cmd.Flags().Changed("resolver-forward") {
				c.ResolverForward = flags.ResolverForward
			}
			c.ForceNewStore, c.TokenFD = flags.ForceNewStore, flags.TokenFD
			if cmd.Flags().Changed("token") {
				return heddle.Errorf(heddle.OpenSecret, "read flag", "--token", "every user of this host can read the command line in the list of processes",
					"make a new token with 'heddle host token --out FILE', and give --token-file FILE")
			}
			if cmd.Flags().Changed("token-file") || cmd.Flags().Changed("token-fd") { // over the file's
				c.Token, c.tokenExposed = "", nil
			}
			if cmd.Flags().Changed("token-fd") && !cmd.Flags().Changed("token-file") {
				c.TokenFile = ""
			}
			if err := c.forVPC(); err != nil {
				return err
			}
			if err := c.checkStore(); err != nil {
				return err
			}
			if err := c.loadToken(); err != nil {
				return err
			}
			if c.FastPath != "auto" && c.FastPath != "off" {
				return badFlag("--fast-path", fmt.Sprintf("%q is neither auto nor off", c.FastPath), "give auto or off")
			}
			if c.Resolver != "gateway" && c.Resolver != "none" {
				return badFlag("--resolver", fmt.Sprintf("%q is neither gateway nor none", c.Resolver), "give gateway or none")
			}
			if c.forwards, err = names.ParseForwards(c.ResolverForward); err != nil {
				return err
			}
			return run(cmd.Context(), c)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		var value *pflag.InvalidValueError
		if errors.As(err, &value) {
			return badFlag("--"+value.GetFlag().Name, fmt.Sprintf("%q is not of the type %s", heddle.Clip(value.GetValue()), value.GetFlag().Value.Type()), "see 'heddled --help'")
		}
		return heddle.Errorf(heddle.BadArgument, "run command", "heddled", err.Error(), "see 'heddled --help'")
	})
	f := cmd.Flags()
	f.StringVar(&file, "config", "", "configuration file (YAML)")
	f.StringVar(&flags.Name, "name", "", "name of this host (default: the host name)")
	f.StringVar(&flags.StateDir, "state-dir", flags.StateDir, "folder for what survives a reboot: networks, and this host's part in a cluster")
	f.StringVar(&flags.RunDir, "run-dir", flags.RunDir, "folder for the socket and the record of kernel objects; a tmpfs")
	f.StringVar(&flags.SocketGroup, "socket-group", "", "group whose members may use the socket")
	f.StringVar(&flags.DockerSocket, "docker-socket", "", "socket on which dockerd finds this agent as its driver, or none (default: "+docker.DefaultSocket+")")
	f.StringVar(&flags.DockerDriver, "docker-driver", "", "what dockerd calls this agent, such as a managed plugin's heddle:latest (default: heddle)")
	f.StringVar(&flags.DockerHost, "docker-host", "", "address of the dockerd that gets the cluster's networks, or none (default: "+reconcile.DefaultHost+")")
	f.StringVar(&flags.Metrics, "metrics", "", "address to serve Prometheus metrics on, such as 127.0.0.1:9468")
	f.StringVar(&flags.LogLevel, "log-level", flags.LogLevel, "debug, info, warn or error")
	f.StringVar(&flags.LogFormat, "log-format", flags.LogFormat, "text or json")
	f.StringVar(&flags.FastPath, "fast-path", flags.FastPath, "auto: eBPF programs carry what they can, where the kernel has them; off: none do")
	f.StringVar(&flags.Resolver, "resolver", flags.Resolver, "gateway: containers find each other by name, and ask at their gateway; none: nobody answers them")
	f.StringArrayVar(&flags.ResolverForward, "resolver-forward", nil, "`DOMAIN=ADDR,…`: ask these name servers for the names of a domain; may be repeated")
	f.StringVar(&flags.Store, "store", "", "what hosts share: none, embedded, or etcd://HOST:PORT,… (default: none, or what this host has joined)")
	f.StringVar(&flags.StoreCA, "store-ca", "", "file with the certificate authority of an external etcd")
	f.StringVar(&flags.StoreCert, "store-cert", "", "file with this host's certificate for an external etcd")
	f.StringVar(&flags.StoreKey, "store-key", "", "file with the key of --store-cert")
	f.StringVar(&flags.Join, "join", "", "underlay address of a host that keeps the store of the cluster to join")
	f.StringVar(&flags.TokenFile, "token-file", "", "`file` with a token of the cluster to join ('heddle host token'), which only its owner can read; - for standard input")
	f.IntVar(&flags.TokenFD, "token-fd", -1, "open file descriptor to read that token from")
	f.StringVar(&flags.Token, "token", "", "refused: others could read it")
	_ = f.MarkHidden("token") // the error says what to do instead
	f.StringVar(&flags.Underlay, "underlay", "", "this host's addresses for other hosts, or their interface (default: that of the default route)")
	f.BoolVar(&flags.ForceNewStore, "force-new-store", false, "once, on a host that keeps an embedded store: drop its other members, which are lost for good")
	f.Uint16Var(&flags.TunnelPort, "tunnel-port", path.Default().Port(), "UDP port of the tunnels of a cluster that this host founds")
	f.StringVar(&flags.ClusterRanges, "cluster-ranges", "", "`prefixes`, separated by commas, in which the shared networks of a cluster that this host founds lie (default: private and unique local addresses)")
	f.StringVar(&flags.NICCloud, "nic-cloud", "", "`file` that says which NICs of a cloud (Alibaba Cloud or EC2) the agent may order for containers of this instance; docs/guides/cloud-nics.md")
	f.StringVar(&flags.NICGrant, "nic-grant", "", "`file` of 'heddle nic grant', by which NICs are plugged into this virtual machine for containers")
	f.StringVar(&flags.VPC, "vpc", "", "be the agent of this VPC of the hypervisor, in a network namespace of its own")
	cmd.AddCommand(newResolveCommand())
	cmd.CompletionOptions.DisableDefaultCmd = true // its only command is for the agent
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	return cmd
}

func loadConfig(file string) (config, error) {
	c := defaultConfig()
	if file == "" {
		return c, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return c, heddle.Wrap(heddle.BadArgument, "read configuration file", file, err, "name a readable file with --config")
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return c, heddle.Wrap(heddle.BadArgument, "read configuration file", file, err, "name a readable file with --config")
	}
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, heddle.Wrap(heddle.BadArgument, "parse configuration file", file, err, "see 'heddled --help' for the keys")
	}
	if c.Token != "" {
		c.tokenExposed = heddle.CheckSecret(f, "the token in the configuration", file)
	}
	return c, nil
}
