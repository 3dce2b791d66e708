package bench

import (
	"fmt"
	"regexp"
	"strconv"
)

var (
	sentLine     = regexp.MustCompile(`Total of (\d+) messages sent in ([\d.]+) sec`)
	handledLine  = regexp.MustCompile(`Total (\d+) messages received and handled`)
	answeredLine = regexp.MustCompile(`Total Run\].*ReceivedMessages=(\d+)`)
	percentLine  = regexp.MustCompile(`percentile\s+([\d.]+)\s*=\s*([\d.]+)`)
	observedLine = regexp.MustCompile(`Total (\d+) observations`)
	droppedLine  = regexp.MustCompile(`dropped messages\s*=\s*(\d+)`)
)

// numbers finds a line and reads its groups.
func numbers(line *regexp.Regexp, text string) ([]float64, error) {
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
