package aliyun

import (
	"time"

	"golang.org/x/time/rate"
)

// budget is a group of actions that share a number of calls a minute.
type budget int

const (
	making     budget = iota // create, attach, delete
	detaching                // detach, and changes of addresses
	describing               // describe
	switches                 // describe vSwitches
)

// perMinute are the calls that one machine makes at most. The cloud counts by account, and refuses what is too much: these are
// the budgets that Terway's client has by default (AliyunContainerService/terway, pkg/aliyun/client/ratelimit.go).
var perMinute = map[budget]int{making: 500, detaching: 400, describing: 800, switches: 300}

func newBudgets() map[budget]*rate.Limiter {
	all := map[budget]*rate.Limiter{}
	for b, n := range perMinute {
		all[b] = rate.NewLimiter(rate.Every(time.Minute/time.Duration(n)), n/10)
	}
	return all
}
