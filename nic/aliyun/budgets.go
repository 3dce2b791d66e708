package aliyun

import "github.com/heddle-network/heddle/nic/eni"

const (
	making     eni.Budget = "make" // create, attach, delete
	detaching  eni.Budget = "detach and addresses"
	describing eni.Budget = "describe"
	switches   eni.Budget = "describe vSwitches"
)

// budgets are the calls that one machine makes at most. The cloud counts by account, and refuses what is too much: these are
// the budgets that Terway's client has by default (AliyunContainerService/terway, pkg/aliyun/client/ratelimit.go).
var budgets = map[eni.Budget]eni.Rate{making: {PerMinute: 500, AtOnce: 50}, detaching: {PerMinute: 400, AtOnce: 40}, describing: {PerMinute: 800, AtOnce: 80}, switches: {PerMinute: 300, AtOnce: 30}}
