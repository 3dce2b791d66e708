package diary

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/heddle-network/heddle"
)

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
		in := bufio.NewReaderSize(f, 1<<16)
		for number := 1; ; number++ {
			text, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) && (number > 1 || len(text) == 0) {
				if number == 1 {
					fail(errors.New("it is empty"))
				}
				return
			}
			var l Line
			if err == nil {
				err = json.Unmarshal(text, &l)
			}
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
	}
}
