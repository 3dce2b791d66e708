// Command cri calls one method of a container runtime's CRI service (v1), and
// prints the reply: what the tests need of crictl.
//
//	cri SOCKET METHOD [JSON]
//
// METHOD is of RuntimeService or ImageService, such as RunPodSandbox; JSON is its
// request. It is a module of its own, so that heddle does not depend on Kubernetes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	if len(os.Args) < 3 || len(os.Args) > 4 {
		fmt.Fprintln(os.Stderr, "usage: cri SOCKET METHOD [JSON]")
		os.Exit(2)
	}
	request := "{}"
	if len(os.Args) == 4 {
		request = os.Args[3]
	}
	if err := run(os.Args[1], os.Args[2], request); err != nil {
		fmt.Fprintln(os.Stderr, "cri:", err)
		os.Exit(1)
	}
}

func run(socket, method, request string) error {
	c, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	call, err := find(method, cri.NewRuntimeServiceClient(c), cri.NewImageServiceClient(c))
	if err != nil {
		return err
	}
	in := reflect.New(call.Type().In(1).Elem())
	if err := json.Unmarshal([]byte(request), in.Interface()); err != nil {
		return fmt.Errorf("request of %s: %w", method, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out := call.Call([]reflect.Value{reflect.ValueOf(ctx), in})
	if err, failed := out[1].Interface().(error); failed {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out[0].Interface())
}

// find looks the method up in the services.
func find(method string, services ...any) (reflect.Value, error) {
	for _, s := range services {
		m := reflect.ValueOf(s).MethodByName(method)
		if m.IsValid() && m.Type().NumIn() == 3 && m.Type().NumOut() == 2 && m.Type().In(1).Kind() == reflect.Pointer {
			return m, nil
		}
	}
	return reflect.Value{}, fmt.Errorf("there is no method %q", method)
}
