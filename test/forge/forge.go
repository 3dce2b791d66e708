// Package forge writes any records to the store of a cluster, with the keys of one of its hosts, as
// an attacker can who has taken over that host.
package forge

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/heddle-network/heddle/lab"
)

// word is the argument that makes a test's program the forger.
const word = "forge-records"

// Record is a key and what is to be its value.
type Record struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

// Text makes a record of a text.
func Text(key, value string) Record { return Record{key, []byte(value)} }

// order is one change: all of it or nothing.
type order struct {
	Put    []Record `json:"put,omitempty"`
	Delete []string `json:"delete,omitempty"`
	// Get is a key whose value is the answer, and nothing else is done.
	Get string `json:"get,omitempty"`
}

// Dispatch is called first in TestMain. If the program was started as a forger, it runs the forger
// and does not return.
func Dispatch(args []string) {
	if len(args) != 2 || args[0] != word {
		return
	}
	if err := serve(args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve takes orders, one a line, and answers each with a line: ok, or why not.
func serve(dir string, in io.Reader, out io.Writer) error {
	client, err := dial(dir)
	if err != nil {
		return err
	}
	defer client.Close()
	for d := json.NewDecoder(bufio.NewReader(in)); ; {
		var o order
		if err := d.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		said := "ok"
		if o.Get != "" {
			said, err = look(client, o.Get)
		} else {
			err = carryOut(client, o)
		}
		if err != nil {
			said = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if _, err := fmt.Fprintln(out, said); err != nil {
			return err
		}
	}
}

// look reads all that lies below a key, as one line of JSON.
func look(client *clientv3.Client, prefix string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	found, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return "", err
	}
	all := []Record{}
	for _, kv := range found.Kvs {
		all = append(all, Record{string(kv.Key), kv.Value})
	}
	text, err := json.Marshal(all)
	return string(text), err
}

func carryOut(client *clientv3.Client, o order) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var ops []clientv3.Op
	for _, r := range o.Put {
		ops = append(ops, clientv3.OpPut(r.Key, string(r.Value)))
	}
	for _, k := range o.Delete {
		ops = append(ops, clientv3.OpDelete(k))
	}
	_, err := client.Txn(ctx).Then(ops...).Commit()
	return err
}

// dial calls the store as the host whose folder it is.
func dial(dir string) (*clientv3.Client, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "host.crt"), filepath.Join(dir, "host.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	text, err := os.ReadFile(filepath.Join(dir, "endpoints"))
	if err != nil {
		return nil, err
	}
	return clientv3.New(clientv3.Config{Endpoints: strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune("[]\", \n", r) }), Logger: zap.NewNop(),
		DialTimeout: 30 * time.Second, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{pair}}})
}

// Forger writes records with the keys of a host.
type Forger struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// As starts a forger with a host's keys. It ends with the test.
func As(t testing.TB, h *lab.Host) *Forger {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := h.Command(context.Background(), self, word, "/var/lib/heddle/cluster")
	if err != nil {
		t.Fatal(err)
	}
	return start(t, cmd)
}

// In starts a forger in this namespace, with the keys in a host's folder.
func In(t testing.TB, dir string) *Forger {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return start(t, exec.Command(self, word, dir))
}

func start(t testing.TB, cmd *exec.Cmd) *Forger {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the forger: %v", err)
		}
	})
	return &Forger{in, bufio.NewReader(out)}
}

// Write puts the records in one change, and returns what the store says.
func (f *Forger) Write(all ...Record) error { return f.tell(order{Put: all}) }

// Delete deletes keys in one change.
func (f *Forger) Delete(keys ...string) error { return f.tell(order{Delete: keys}) }

// Below reads the records whose keys have the prefix.
func (f *Forger) Below(prefix string) (all []Record, err error) {
	line, err := f.ask(order{Get: prefix})
	if err == nil {
		err = json.Unmarshal([]byte(line), &all)
	}
	return all, err
}

func (f *Forger) tell(o order) error {
	line, err := f.ask(o)
	if err == nil && line != "ok" {
		err = fmt.Errorf("the store says: %s", line)
	}
	return err
}

func (f *Forger) ask(o order) (string, error) {
	if err := json.NewEncoder(f.in).Encode(o); err != nil {
		return "", err
	}
	line, err := f.out.ReadString('\n')
	return strings.TrimSpace(line), err
}
