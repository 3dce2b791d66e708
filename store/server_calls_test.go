package store

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// answers is a service whose calls do what the test says.
type answers struct {
	grpc_health_v1.UnimplementedHealthServer
	check func()
	watch func()
}

func (a answers) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	a.check()
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

func (a answers) Watch(*grpc_health_v1.HealthCheckRequest, grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	a.watch()
	return nil
}

// serve answers with the member's options.
func serve(t *testing.T, f *failure, a answers) (*grpc.Server, grpc_health_v1.HealthClient) {
	t.Helper()
	s := grpc.NewServer(f.callOptions()...)
	grpc_health_v1.RegisterHealthServer(s, a)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return s, grpc_health_v1.NewHealthClient(conn)
}

// TestCallPanics: a call that panics fails, the member is seen as ended, and the process
// lives on.
func TestCallPanics(t *testing.T) {
	closed := func() {
		var tx *struct{ root int }
		_ = tx.root
	}
	for name, call := range map[string]func(grpc_health_v1.HealthClient) error{
		"answer": func(c grpc_health_v1.HealthClient) error {
			_, err := c.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			return err
		},
		"stream": func(c grpc_health_v1.HealthClient) error {
			w, err := c.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			if err == nil {
				_, err = w.Recv()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &failure{end: make(chan struct{})}
			_, c := serve(t, f, answers{check: closed, watch: closed})
			if err := call(c); status.Code(err) != codes.Unavailable {
				t.Errorf("the call: %v", err)
			}
			if err := f.get(); err == nil || !strings.Contains(err.Error(), "nil pointer") {
				t.Errorf("the member: %v", err)
			}
		})
	}
}

// TestStopAwaitsCalls: the data that a call reads exists until the call has ended.
func TestStopAwaitsCalls(t *testing.T) {
	began, goOn, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s, c := serve(t, &failure{end: make(chan struct{})}, answers{check: func() {
		close(began)
		<-goOn
	}})
	go c.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	<-began
	go func() {
		s.Stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("stopped during a call")
	case <-time.After(100 * time.Millisecond):
	}
	close(goOn)
	select {
	case <-stopped:
	case <-time.After(time.Minute):
		t.Error("not stopped after the call")
	}
}
