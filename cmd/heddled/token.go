package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/heddle-network/heddle"
)

// maxToken is how many bytes of a token's file are read.
const maxToken = 4096

// hasToken says whether the host is given a token in any way.
func (c config) hasToken() bool { return c.Token != "" || c.TokenFile != "" || c.TokenFD >= 0 }

// loadToken reads the token from its file or descriptor, and refuses a file that others
// can read. A host that belongs to a cluster already needs no token: then an error is only
// recorded.
func (c *config) loadToken() error {
	if c.Token != "" && (c.TokenFile != "" || c.TokenFD >= 0) || c.TokenFile != "" && c.TokenFD >= 0 {
		return heddle.Errorf(heddle.BadArgument, "read token", "",
			"more than one of token, --token-file and --token-fd is given", "give one of them")
	}
	text, err := c.readToken()
	if err != nil && c.isMember() {
		c.Token, c.tokenError = "", err
		return nil
	}
	c.Token = text
	return err
}

func (c config) readToken() (string, error) {
	file, name := os.Stdin, c.TokenFile
	switch {
	case c.Token != "":
		return c.Token, c.tokenExposed // out of the configuration
	case !c.hasToken():
		return "", nil
	case c.TokenFD >= 0:
		name = fmt.Sprintf("descriptor %d", c.TokenFD)
		file = os.NewFile(uintptr(c.TokenFD), name)
	case c.TokenFile != "-":
		var err error
		if file, err = os.Open(c.TokenFile); err != nil {
			return "", heddle.Wrap(heddle.BadArgument, "read token from file", name, err, "name a readable file with --token-file")
		}
	}
	defer file.Close()
	if err := heddle.CheckSecret(file, "the token", name); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil || len(text) == 0 {
		return "", heddle.Wrap(heddle.BadArgument, "read token from file", name, orEmptyFile(err),
			"make a token with 'heddle host token --out FILE'")
	}
	return string(text), nil
}

func orEmptyFile(err error) error {
	if err == nil {
		return errors.New("it is empty")
	}
	return err
}
