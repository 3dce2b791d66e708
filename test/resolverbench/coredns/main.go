// Command coredns is CoreDNS with the plug-ins that the benchmark uses: it answers names of a hosts
// file and forwards others. It is a module of its own, so that heddle does not depend on CoreDNS.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/hosts"
)

func main() { coremain.Run() }
