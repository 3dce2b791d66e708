package heddle

import "strconv"

// MaxBatch is how many endpoints one call may ask for.
const MaxBatch = 256

// AttachResult is what became of one request of a batch: a reply, or an error.
type AttachResult struct {
	ID    EndpointID   `json:"id"`
	Reply *AttachReply `json:"reply,omitempty"`
	Error *Error       `json:"error,omitempty"`
}

// CheckBatch refuses what no batch may hold: too many requests, two for one endpoint, and a dry run. A
// dry run holds no addresses, so each request of the batch would be shown the same ones.
func CheckBatch(all []AttachRequest) error {
	if len(all) > MaxBatch {
		return Errorf(TooMuch, "attach a batch of", Count(len(all), "endpoint"), "it is longer than a batch may be",
			"ask for at most "+strconv.Itoa(MaxBatch)+" in one call")
	}
	seen := make(map[EndpointID]bool, len(all))
	for _, q := range all {
		switch {
		case q.DryRun:
			return Errorf(BadArgument, "attach a batch with endpoint", q.ID.String(), "a dry run shows one endpoint",
				"ask for the dry run by itself")
		case seen[q.ID]:
			return Errorf(BadArgument, "attach a batch with endpoint", q.ID.String(), "the batch asks for it twice",
				"ask for each endpoint once")
		}
		seen[q.ID] = true
	}
	return nil
}
