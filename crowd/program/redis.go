package program

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// redis has one string, of which answers of a planned size are ranges, and a stream with the last messages. It answers who has
// the password of the round. Others get no answer but an error.
type redis struct{}

func (redis) debian() (pack, file string) { return "redis-server", "redis-server" }

func (redis) version() ([]string, func(string) string) {
	return []string{"--version"}, func(said string) string { // Redis server v=7.0.15 sha=00000000:0
		_, v, _ := strings.Cut(said, " v=")
		v, _, _ = strings.Cut(v, " ")
		return v
	}
}

// Where redis has its files.
const (
	redisConf    = "/etc/redis.conf"
	redisFolder  = "/srv"
	redisContent = "content.rdb"
)

// redisUnread is how many bytes of answers a connection may leave unread: four times what people do. No source: a guess.
const redisUnread = 8 << 20

func (r redis) configured(s Setting) (p container.Program, speaks protocol.Protocol, err error) {
	people := protocol.Redis{Password: rand.Text()}
	p = container.Program{Args: []string{redisConf}, Size: protocol.Content + spare}
	if p.Files, people.TLS, err = s.secured(); err != nil {
		return p, nil, err
	}
	p.Files = append(p.Files, text(redisConf, r.conf(s, people)), container.File{Name: redisFolder + "/" + redisContent,
		Write: func(w io.Writer) error { return redisDump(w, s) }})
	return p, people, nil
}

// redisDump writes what redis loads: a database with one string (rdb.h of redis; version 9 is that of redis 5).
func redisDump(to io.Writer, s Setting) error {
	const selectDB, stringType, end, size32 = 0xfe, 0, 0xff, 0x80
	head := append([]byte("REDIS0009"), selectDB, 0, stringType, byte(len(protocol.RedisContent)))
	head = append(head, protocol.RedisContent...)
	head = binary.BigEndian.AppendUint32(append(head, size32), protocol.Content)
	if _, err := to.Write(head); err != nil {
		return err
	}
	if _, err := io.CopyN(to, draw.NewStream(s.Seed, "contents", s.Service), protocol.Content); err != nil {
		return err
	}
	_, err := to.Write([]byte{end, 0, 0, 0, 0, 0, 0, 0, 0}) // without a checksum
	return err
}

func (redis) conf(s Setting, people protocol.Redis) string {
	var bind strings.Builder
	for _, a := range s.Addrs {
		fmt.Fprintf(&bind, " %s", a)
	}
	port := fmt.Sprintf("port %d", people.Port())
	if people.TLS != nil {
		port = fmt.Sprintf("port 0\ntls-port %d\ntls-cert-file %s\ntls-key-file %s\ntls-auth-clients no\ntls-session-caching no", people.Port(), certFile, keyFile)
	}
	return fmt.Sprintf(`daemonize no
logfile ""
loglevel warning
bind%s
%s
protected-mode no
maxclients %d
timeout 0
# People have two ranges under way. Whoever reads no answers is cut off.
client-output-buffer-limit normal %d 0 0
# What is in memory ends with it.
dir %s
dbfilename %s
save ""
appendonly no
user default off
user %s on #%x ~%s ~%s resetchannels &%[10]s -@all +getrange +xadd +publish
`, bind.String(), port, s.connections(), redisUnread, redisFolder, redisContent, protocol.RedisUser, sha256.Sum256([]byte(people.Password)),
		protocol.RedisContent, protocol.RedisInbox)
}
