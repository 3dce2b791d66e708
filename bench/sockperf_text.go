package bench

import (
	"fmt"
	"strconv"

	"github.com/heddle-network/heddle/lazyregexp"
)

var (
	sentLine     = lazyregexp.New(`Total of (\d+) messages sent in ([\d.]+) sec`)
	handledLine  = lazyregexp.New(`Total (\d+) messages received and handled`)
	answeredLine = lazyregexp.New(`Total Run\].*ReceivedMessages=(\d+)`)
	percentLine  = lazyregexp.New(`percentile\s+([\d.]+)\s*=\s*([\d.]+)`)
	observedLine = lazyregexp.New(`Total (\d+) observations`)
	droppedLine  = lazyregexp.New(`dropped messages\s*=\s*(\d+)`)
)

// numbers finds a line and reads its groups.
func numbers(line *lazyregexp.Regexp, text string) ([]float64, error) {
	found := line.FindStringSubmatch(plain(text))
	if found == nil {
		return nil, fmt.Errorf("no %q; it said: %s", line, tail(text))
	}
	var all []float64
	for _, s := range found[1:] {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("%w; it said: %s", err, tail(text))
		}
		all = append(all, v)
	}
	return all, nil
}
