package eni

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/heddle-network/heddle"
)

// Fault is what an error of an API means.
type Fault int

const (
	Refused   Fault = iota
	Throttled       // it was asked too often
	Changing        // the NIC, or the instance, is just changing
	Gone            // there is no such NIC
	Forbidden       // nobody may ask that with these credentials
	Away            // it did not answer, or has a fault of its own: the same call may succeed later
)

// Failure is an error of a cloud's API.
type Failure struct {
	Fault Fault
	// Code is the API's; "" if it did not answer.
	Code string
	// Err is the library's error, Message what the API said.
	Err     error
	Message string
}

// Error has the API's code and message in one line.
func (f Failure) Error() string {
	var without *url.Error
	switch {
	case errors.As(f.Err, &without):
		return without.Err.Error() // the address is the API's, with all parameters
	case f.Code == "":
		return f.Err.Error()
	}
	return f.Code + ": " + strings.Join(strings.Fields(f.Message), " ")
}

// Unwrap returns the library's error.
func (f Failure) Unwrap() error { return f.Err }

// isFinal reports whether the same call fails again, as far as is known.
func (f Failure) isFinal() bool {
	return f.Fault != Away && f.Fault != Throttled && f.Fault != Changing
}

// NoSlot is what to do where a machine may have no more NICs.
const NoSlot = "detach endpoints, or use a type of instance that may have more NICs"

// failureOf returns what an API said, if the error is of that.
func failureOf(err error) (f Failure, is bool) {
	is = errors.As(err, &f)
	return f, is && f.Code != ""
}

// CodeOf returns the API's code of an error; "" if it is none of an API's.
func CodeOf(err error) string {
	f, _ := failureOf(err)
	return f.Code
}

// refused is an error of a call as one of ours.
func (c *Calls) refused(op, object string, f Failure) error {
	code, remedy := heddle.NotPlugged, "look at the NIC in the cloud's console, and try again"
	switch k, is := c.remedies[f.Code]; {
	case is:
		code, remedy = k.Code, k.Remedy
	case errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled) || f.Fault == Throttled:
		code, remedy = heddle.Waited, "try again: the cloud is slow, or is asked too often"
	case f.Fault == Forbidden:
		code, remedy = heddle.NICNotGranted, "correct the credentials, or the rights of the instance's role"
	case f.Fault == Away:
		code, remedy = heddle.NICServiceDown, "look whether this machine reaches the cloud's API, and try again"
	}
	return heddle.Wrap(code, op, object, f, remedy)
}
