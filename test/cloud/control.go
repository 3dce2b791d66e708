package cloud

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"iter"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/nic/ports"
	"github.com/heddle-network/heddle/nic/qmp"
	"github.com/heddle-network/heddle/nic/service"
)

// Place is where a program serves a cloud whose NICs are real: a host that is a hypervisor.
type Place struct {
	Options
	// EC2 has the cloud speak as EC2 does, and not as Alibaba Cloud.
	EC2 bool
	// Socket is the agent's, QMP that of the machine that is the instance.
	Socket, QMP string
	// API is the address at which the actions are; the metadata service is at its own.
	API netip.AddrPort
	// Dir gets the certificate of who vouches for the API (ca.pem), and the socket by which a test speaks with the program (control).
	Dir string
}

// word begins the command line of a program that serves a cloud.
const word = "serve-cloud"

// Command is the command line, after a program's name, that has Dispatch serve the cloud of a place.
func (p Place) Command() []string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return []string{word, string(text)}
}

// Dispatch serves a cloud until the process is ended, if args, a program's command line without its name, are of Place.Command.
func Dispatch(args []string) {
	if len(args) != 2 || args[0] != word {
		return
	}
	var p Place
	err := json.Unmarshal([]byte(args[1]), &p)
	if err == nil {
		err = p.serve()
	}
	log.Fatal("serve cloud: ", err)
}

func (p Place) serve() error {
	agent := client.New(p.Socket)
	p.Ports, p.Machine = realPorts{ports.OfVPCs{"": ports.New(agent)}, agent}, qmp.NewSocket(p.QMP)
	c := New(p.Options)
	cert, err := p.certificate()
	if err != nil {
		return err
	}
	api, err := tls.Listen("tcp", p.API.String(), &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		return err
	}
	at, serve, tell := MetadataAddr, c.API, c.Metadata
	if p.EC2 {
		at, serve, tell = EC2MetadataAddr, c.EC2, c.EC2Metadata
	}
	meta, err := net.Listen("tcp", at+":80")
	if err != nil {
		return err
	}
	os.Remove(filepath.Join(p.Dir, "control")) // of a cloud before this one
	control, err := net.Listen("unix", filepath.Join(p.Dir, "control"))
	if err != nil {
		return err
	}
	failed := make(chan error)
	for l, h := range map[net.Listener]http.Handler{api: serve(), meta: tell(), control: c.control()} {
		go func() { failed <- http.Serve(l, h) }()
	}
	return <-failed
}

// realPorts are ports of an agent.
type realPorts struct {
	ports.OfVPCs
	agent *client.Client
}

// Further implements Ports.
func (r realPorts) Further(ctx context.Context, p service.Port, has int, ips ...netip.Addr) ([]netip.Prefix, error) {
	e, err := r.agent.Assign(ctx, p.ID, has+1, ips...)
	if err != nil {
		return nil, err
	}
	return e.Further[len(e.Further)-1].Addrs, nil
}

// MetadataAddr is where the metadata service of Alibaba Cloud is.
const MetadataAddr = "100.100.100.200"

// certificate makes a certificate for the API's address, and writes it down.
func (p Place) certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{p.API.Addr().AsSlice()}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(filepath.Join(p.Dir, "ca.pem"), text, 0o644)
}

// Said is what a cloud says of itself.
type Said struct {
	IDs   []string
	Calls map[string]int
	// Further is how many further addresses all NICs have.
	Further int
}

// control has a test switch faults on (PUT), and see what there is (GET).
func (c *Cloud) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		said := Said{IDs: c.IDs(), Calls: map[string]int{}}
		for _, id := range said.IDs {
			said.Further += len(c.Further(id))
		}
		for _, all := range []iter.Seq[string]{maps.Keys(actions), maps.Keys(ec2Actions)} {
			for name := range all {
				said.Calls[name] = c.Calls(name)
			}
		}
		json.NewEncoder(w).Encode(said)
	})
	mux.HandleFunc("PUT /faults", func(w http.ResponseWriter, r *http.Request) {
		var f Faults
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.Set(f)
	})
	mux.HandleFunc("POST /create", func(w http.ResponseWriter, r *http.Request) {
		q := query{}
		for name, values := range r.URL.Query() {
			q[name] = values[0]
		}
		answer, err := c.create(r.Context(), q)
		if err != nil {
			http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(describe(answer))
	})
	return mux
}
