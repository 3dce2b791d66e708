package cni

import (
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
)

// The codes of the specification, section 5, Error. Own ones are ownCodes plus
// the error's kind, the exit code of the command line.
const (
	badVersion       = 1
	unsupportedField = 2
	unknownContainer = 3
	badEnvironment   = 4
	ioFailure        = 5
	undecodable      = 6
	badConf          = 7
	tryAgainLater    = 11
	notAvailable     = 50
	limited          = 51
	ownCodes         = 100
)

// codes are those of the agent's errors that have a meaning in the
// specification.
var codes = map[heddle.Code]int{
	heddle.CNIVersion: badVersion, heddle.NoEndpoint: unknownContainer,
	heddle.BadID: badEnvironment, heddle.BadIfName: badEnvironment, heddle.BadNamespace: badEnvironment,
	heddle.LedgerBroken: ioFailure, heddle.LedgerFull: ioFailure, heddle.BadJSON: undecodable,
	heddle.CNIConfig: badConf, heddle.BadName: badConf, heddle.BadMAC: badConf, heddle.BadOption: badConf,
	heddle.BadAddress: badConf, heddle.BadSubnet: badConf, heddle.BadPort: badConf, heddle.BadMTU: badConf,
	heddle.BadArgument: badConf, heddle.UnknownMode: badConf, heddle.NoNetwork: badConf, heddle.NoParent: badConf,
	heddle.Stopping: tryAgainLater, heddle.AgentDown: tryAgainLater,
}

// fault is an error with a code of the specification.
type fault struct {
	code int
	error
}

func (f fault) Unwrap() error { return f.error }

func faultf(code int, id heddle.Code, op, object, cause, remedy string) error {
	return fault{code, heddle.Errorf(id, op, object, cause, remedy)}
}

// readKey is the operation of faults in the network configuration.
const readKey = "read configuration key"

// badKey is a fault in the value of a key of the network configuration.
func badKey(key, cause, remedy string) error {
	return faultf(badConf, heddle.CNIConfig, readKey, key, cause, remedy)
}

// unsupported is a field that the door does not serve; the specification wants
// its key and value in the message.
func unsupported(key string, value []byte, remedy string) error {
	return faultf(unsupportedField, heddle.CNIConfig, readKey, key,
		"its value "+heddle.Clip(string(value))+" is not supported", remedy)
}

// errorResult is an error as the specification wants it printed.
type errorResult struct {
	CNIVersion string `json:"cniVersion"`
	Code       int    `json:"code"`
	Msg        string `json:"msg"`
	Details    string `json:"details,omitempty"`
}

// errorReply is what a runtime shows people as it is, so nothing in it is hidden.
func errorReply(version string, err error) errorResult {
	var known *heddle.Error
	if !errors.As(err, &known) {
		return errorResult{version, codeOf(err), heddle.Visible(err.Error(), true), ""}
	}
	remedy := known.Remedy
	if x, ok := heddle.Explain(known.Code); ok && remedy == "" {
		remedy = x.Remedy
	}
	return errorResult{version, codeOf(err), heddle.Visible(known.Sentence(), true), heddle.Visible(fmt.Sprintf("%s [%s]", remedy, known.Code), true)}
}

func codeOf(err error) int {
	var f fault
	if errors.As(err, &f) {
		return f.code
	}
	var known *heddle.Error
	if errors.As(err, &known) {
		if code, ok := codes[known.Code]; ok {
			return code
		}
	}
	return ownCodes + int(heddle.KindOf(err))
}
