package main

import (
	"io"
	"log/slog"

	"github.com/heddle-network/heddle"
)

// logger writes a line for each event. What others chose stands in it: names, the words
// of other hosts and of the kernel. As text, slog quotes what is not to be seen; in JSON
// it leaves some of that as it is.
func (c config) logger(to io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read log level", c.LogLevel, err, "give debug, info, warn or error")
	}
	opt := &slog.HandlerOptions{Level: level}
	switch c.LogFormat {
	case "text":
		return slog.New(slog.NewTextHandler(to, opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(documents{to}, opt)), nil
	}
	return nil, heddle.Errorf(heddle.BadArgument, "log format", c.LogFormat, "give text or json")
}

// documents writes JSON in which nothing is hidden. It is called with whole lines.
type documents struct{ to io.Writer }

func (d documents) Write(line []byte) (int, error) {
	_, err := d.to.Write(heddle.Escaped(line))
	return len(line), err
}
