package diary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Planned is the scenario that was planned, with what the command changed of it.
func (r Run) Planned() (scenario.Scenario, error) {
	read, err := scenario.Parse([]byte(r.Scenario))
	if err == nil {
		read.Seed = r.Seed
		read, err = read.Resize(r.Users)
	}
	if err != nil {
		return read, heddle.Wrap(heddle.BadArgument, "read scenario of diary", r.Crowd, err, "use the version of heddle that wrote it")
	}
	return read, nil
}

// OtherPlan is the error of a diary whose steps are not those of the plan that is drawn anew.
func OtherPlan(file string) error {
	return heddle.Errorf(heddle.BadArgument, "read diary", file, "it is of another plan than this heddle draws", "use the version of heddle that wrote it")
}

// Read reads a diary's file, line by line. A last line that is not whole is left out: the program was killed.
// The error, if there is one, comes last.
func Read(file string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		fail := func(err error) {
			yield(Line{}, heddle.Wrap(heddle.BadArgument, "read diary", file, err, "name a file that 'heddle crowd run --diary' wrote"))
		}
		f, err := os.Open(file)
		if err != nil {
			fail(err)
			return
		}
		defer f.Close()
		in := bufio.NewScanner(f)
		in.Buffer(nil, longest)
		in.Split(wholeLines)
		number := 1
		for ; in.Scan(); number++ {
			var l Line
			err := json.Unmarshal(in.Bytes(), &l)
			if err == nil && number == 1 && l.Run == nil {
				err = errors.New("it does not begin with a run")
			}
			if err != nil {
				fail(fmt.Errorf("line %d: %w", number, err))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			fail(fmt.Errorf("line %d: %w", number, err))
		} else if number == 1 {
			fail(errors.New("it has no line"))
		}
	}
}

// longest is how long a line may be: the first one has a scenario.
const longest = 16 << 20

// wholeLines splits at the ends of lines, and leaves out what has none.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}
