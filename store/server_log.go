package store

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap/zapcore"
)

// logCore passes etcd's log on: errors as warnings, because most are about other members,
// and warnings as debug output. The rest is left out.
type logCore struct {
	log    *slog.Logger
	fields []zapcore.Field
}

func (c *logCore) Enabled(l zapcore.Level) bool { return l >= zapcore.WarnLevel }

func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{c.log, append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

func (c *logCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c *logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	level := slog.LevelDebug
	// Every stop logs this one.
	if e.Level >= zapcore.ErrorLevel && !strings.HasPrefix(e.Message, "setting up serving from embedded etcd failed") {
		level = slog.LevelWarn
	}
	values := zapcore.NewMapObjectEncoder()
	for _, f := range append(c.fields[:len(c.fields):len(c.fields)], fields...) {
		f.AddTo(values)
	}
	var attrs []slog.Attr
	for k, v := range values.Fields {
		attrs = append(attrs, slog.Any(k, v))
	}
	c.log.LogAttrs(context.Background(), level, "etcd: "+e.Message, attrs...)
	return nil
}

func (c *logCore) Sync() error { return nil }

// failure is the end of a member that cannot go on. Etcd would end the process, but here
// the process is the agent, whose traffic and other duties need no store. So only etcd's
// goroutine ends, and then the member.
type failure struct {
	mu  sync.Mutex
	err error
	end chan struct{}
}

// OnWrite is called by etcd's logger for an entry after which etcd must not continue.
func (f *failure) OnWrite(e *zapcore.CheckedEntry, fields []zapcore.Field) {
	text := e.Message
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok {
			text += ": " + err.Error()
		}
	}
	f.set(errors.New(text))
	runtime.Goexit()
}

func (f *failure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && err != nil {
		f.err = err
		close(f.end)
	}
}

func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// guard starts etcd in a goroutine that its logger may end.
func (f *failure) guard(start func() (*embed.Etcd, error)) (*embed.Etcd, error) {
	type result struct {
		etcd *embed.Etcd
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if r.etcd == nil && r.err == nil {
				r.err = errors.New("etcd gave up")
			}
			done <- r
		}()
		r.etcd, r.err = start()
	}()
	select {
	case r := <-done:
		return r.etcd, r.err
	case <-f.end:
	}
	// The goroutine that started etcd may wait for one that has ended.
	select {
	case r := <-done:
		return nil, errors.Join(f.get(), r.err)
	case <-time.After(time.Second):
		return nil, f.get()
	}
}
