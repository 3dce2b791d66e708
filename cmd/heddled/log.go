package main

import (
	"io"
	"log/slog"
	"strconv"

	"github.com/heddle-network/heddle"
)

// logger writes a line for each event. Lines contain foreign text: names, messages of
// other hosts and of the kernel. In text form, slog quotes invisible characters; in JSON
// it leaves some of them as they are.
func (c config) logger(to io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, heddle.Errorf(heddle.BadArgument, "read log level", strconv.Quote(c.LogLevel), "there is no such level",
			"give debug, info, warn or error")
	}
	opt := &slog.HandlerOptions{Level: level}
	switch c.LogFormat {
	case "text":
		return slog.New(slog.NewTextHandler(to, opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(escapingWriter{to}, opt)), nil
	}
	return nil, heddle.Errorf(heddle.BadArgument, "read log format", strconv.Quote(c.LogFormat),
		"there is no such format", "give text or json")
}

// escapingWriter writes JSON with invisible characters escaped. It must be called with whole
// lines.
type escapingWriter struct{ to io.Writer }

func (d escapingWriter) Write(line []byte) (int, error) {
	_, err := d.to.Write(heddle.Escaped(line))
	return len(line), err
}
