package runtimes_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// layout is an image of one layer as the OCI image layout specification, 1.0.0,
// says: blobs by their digests, and an index. It is made here, so that nothing
// has to be pulled.
type layout struct {
	t   *testing.T
	dir string
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

const media = "application/vnd.oci.image."

// image packs a root folder as an image of that name, and returns the archive.
func image(t *testing.T, root, name string) string {
	t.Helper()
	l := layout{t, t.TempDir()}
	if err := os.MkdirAll(filepath.Join(l.dir, "blobs", "sha256"), 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(l.dir, "image.tar")
	cell.Sh(t, "tar -C %s -cf %s .", root, archive)
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	layer := l.blob(media+"layer.v1.tar", content)
	config := l.document(media+"config.v1+json", map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Cmd": []string{"/bin/sleep", "100000"}, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}},
	})
	manifest := l.document(media+"manifest.v1+json", map[string]any{
		"schemaVersion": 2, "mediaType": media + "manifest.v1+json", "config": config, "layers": []descriptor{layer},
	})
	manifest.Annotations = map[string]string{"io.containerd.image.name": name}
	write(t, filepath.Join(l.dir, "oci-layout"), `{"imageLayoutVersion": "1.0.0"}`)
	write(t, filepath.Join(l.dir, "index.json"), string(l.encode(map[string]any{"schemaVersion": 2, "manifests": []descriptor{manifest}})))
	cell.Sh(t, "tar -C %s -cf %s oci-layout index.json blobs", l.dir, archive)
	return archive
}

func (l layout) encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

func (l layout) document(mediaType string, v any) descriptor { return l.blob(mediaType, l.encode(v)) }

func (l layout) blob(mediaType string, content []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	write(l.t, filepath.Join(l.dir, "blobs", "sha256", sum), string(content))
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(content)}
}
