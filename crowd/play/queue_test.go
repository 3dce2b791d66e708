package play

import (
	"slices"
	"testing"

	"github.com/heddle-network/heddle/crowd/plan"
)

// TestQueue: sessions come out in the order of time, those of users who come as well, and those of users who go do not.
func TestQueue(t *testing.T) {
	at := func(user int32, all ...int) (starts []plan.Start) {
		for i, s := range all {
			starts = append(starts, plan.Start{At: ms(s), User: user, Number: int32(i + 1)})
		}
		return starts
	}
	q := queue{at(1, 10, 20, 40, 60)}
	if first := q.pop(); first.At != ms(10) {
		t.Errorf("%+v", first)
	}
	if came := q.add(at(2, 0, 14, 15, 20, 50), ms(15)); !slices.Equal(came, at(2, 0, 14, 15, 20, 50)[2:]) {
		t.Errorf("%+v", came)
	}
	q.add(at(3, 30, 70), ms(16))
	for now, want := range map[int]int{14: 0, 15: 1, 20: 3, 39: 4, 1000: 8} {
		if got := q.due(ms(now)); got != want {
			t.Errorf("at %d ms, %d are due, not %d", now, got, want)
		}
	}
	if went := q.drop(2); len(went) != 2 || went[0].User != 3 || went[1].At != ms(70) {
		t.Errorf("%+v", went)
	}
	var users, times []int
	for _, more := q.next(); more; _, more = q.next() {
		s := q.pop()
		users, times = append(users, int(s.User)), append(times, int(s.At/ms(1)))
	}
	if !slices.Equal(users, []int{2, 1, 2, 1, 2, 1}) || !slices.Equal(times, []int{15, 20, 20, 40, 50, 60}) {
		t.Errorf("%v at %v", users, times)
	}
	if q.add(nil, 0) != nil || q.drop(0) != nil || q.due(ms(1000)) != 0 {
		t.Error("nobody has something to do")
	}
}
