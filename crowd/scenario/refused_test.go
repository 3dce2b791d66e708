package scenario_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestRefused: what is wrong is told with its line, its key, and what to do.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ old, changed, want string }{
		{"seed: 3", "sede: 3", "line 2: unknown key sede"},
		{"seed: 3", "seed: [", "did not find expected"},
		{"users: 5", "users: 0", "line 3, users: 0 is no number of users; give 1 to 1000000"},
		{"users: 5", "users: 1000001", "line 3, users"},
		{"users: 5", "users: 1000000", "line 3, users: all of them would have up to"},
		{"90m", "168h", "line 6, personas.one.does: one user would have up to"},
		{"crowd: good", "crowd: Good Crowd", "line 1, crowd: it is no name"},
		{"length: 90m, ", "", "line 4, clock.length: it is missing; give one such as 30m"},
		{"90m", "8d", `line 4, clock.length: "8d" is no length`},
		{"90m", "169h", `line 4, clock.length: "169h" is no length of a crowd; give 1s to 168h0m0s`},
		{"Sun 23:30", "Sunday", `line 4, clock.start: "Sunday" is no time of the week; give one such as "Mon 08:00"`},
		{"compress: 2", "compress: 9999", "line 4, clock.day.compress: it is too fast"},
		{"compress: 2", "compress: 1.5", `line 4, clock.day.compress: "1.5" is not a whole number`},
		{"60%", "61%", "line 5, personas: the shares add up to 101%; give shares that add up to 100%"},
		{"60%", "160%", `line 6, personas.one.share: "160%" is not a share`},
		{"2/m", "2 per minute", `line 6, personas.one.does.browse: "2 per minute" is not a rate such as 6/h`},
		{"2/m", "3601/h", "is not a rate"},
		{"2/m", "-1/h", "is not a rate"},
		{"browse:", "browsing:", "line 6, personas.one.does.browsing: there is no such behaviour; choose from browse, call"},
		{"fri-mon", "friday-mon", `line 7, personas.two.schedule.days: "friday-mon" is no weekday`},
		{"22:00-06:00", "22-6", `line 7, personas.two.schedule.hours: "22-6 +-20m" are no hours`},
		{"lunch: 01:00-01:30", "lunch: 01:00-01:30 +-5m",
			"line 7, personas.two.schedule.lunch: it is the same for all; take out the +-"},
		{"+-20m", "+-20", "are no hours"},
		{"tinker: 12/d", "call: 1/h", "line 9, behaviours.tinker: no persona does it"},
		{"start: work", "start: sleep", `line 10, behaviours.tinker.start: "sleep" is none of its states; choose from rest`},
		{"patience: 3s", "patience: 3", `line 11, behaviours.tinker.patience: "3" is not a duration such as 12s`},
		{"do: files.get", "do: files.delete", `line 14, WORK.do: "files.delete" is no action; choose from chat.connect`},
		{"do: files.get", "", "states.work: without do it is a pause"},
		{"mean: 10KB", "mean: 10Kbit", "line 15, WORK.receives.lognormal.mean: \"10Kbit\" is not a number of bytes"},
		{"mean: 10KB", "mean: 0", "line 15, WORK.receives.lognormal.mean: it is too small; give at least 0.000001"},
		{"mean: 10KB, ", "", "line 15, WORK.receives.lognormal: it has 1 parameters; give median sigma"},
		{"deviation", "sigma", "line 15, WORK.receives.lognormal.sigma: there is no such parameter; give mean deviation"},
		{"{mean: 10KB, deviation: 3KB}", "3", "line 15, WORK.receives.lognormal: it is no mapping; give median sigma"},
		{"{0.5: 1s, 1: 10s}", "3", "think.quantiles: it is no mapping; give rising probabilities"},
		{"lunch: 01:00-01:30", "curve: 3", "line 7, personas.two.schedule.curve: it is no mapping; give times and weights"},
		{"lunch: 01:00-01:30", "curve: {\"06:00\": 1, \"06:00\": 0}", `schedule.curve.06:00: "06:00" is given twice`},
		{"0.5: 1s, 1: 10s", "1: 1s, 1: 10s", `quantiles.1: "1" is given twice`},
		{"patience: 3s", "patience: [3s]", "line 11, behaviours.tinker.patience: it is no mapping; give a value, or one of"},
		{"max: 1MiB", "most: 1MiB", "there is no distribution and no option \"most\"; give a value, or one of exponential"},
		{"max: 1MiB", "exponential: 2KB", "it is a second distribution; give one of them"},
		{"mean: 10KB", "mean: 1e-200", "line 15, WORK.receives.lognormal.mean: it is too small"},
		{"shape: 0.8", "shape: 1e-7", "line 16, WORK.expect.weibull.shape: it is too small"},
		{"shape: 0.8", "shape: 1001", `line 16, WORK.expect.weibull.shape: "1001" is not a number, up to 1000`},
		{"weibull: {scale: 1s, shape: 0.8}", "exponential: 0s", "WORK.expect.exponential: it is too small"},
		{"weibull: {scale: 1s, shape: 0.8}", "lognormal: {median: 1s, sigma: 11}", "up to 10"},
		{"mean: 10KB", "mean: 1KB, mean: 10KB", `line 15, WORK.receives.lognormal.mean: "mean" is given twice; take one out`},
		{"max: 1MiB", "max: 1KB, max: 1MiB", `line 15, WORK.receives.max: "max" is given twice`},
		{"max: 1MiB", "min: 1MiB, cap: 1KB", "line 15, WORK.receives: its min is above its cap"},
		{"expect:", "every: {exponential: 3s, min: 1s, cap: 0s}\n        lasts:", "line 16, WORK.every: its min is above its cap"},
		{"expect:", "every: {exponential: 3s, cap: 0s}\n        lasts:", "line 16, WORK.every: it may be drawn too short"},
		{"expect:", "every: {exponential: 3s, min: 1s, minus: 1s}\n        lasts:", "line 16, WORK.every: it may be drawn too short"},
		{"max: 1MiB", "min: 2MiB, max: 1MiB", "line 15, WORK.receives: its min is above its max; exchange them"},
		{"per-user: 0.5", "per-user: 4", "receives.per-user: \"4\" is not a standard deviation of the logarithm, up to 3"},
		{"lognormal: {mean: 10KB, deviation: 3KB}, ", "", "it has no distribution"},
		{"0.5: 1s, 1: 10s", "0.5: 1s, 0.9: 10s", "its last probability is 0.9; end with 1, and the largest value"},
		{"0.5: 1s, 1: 10s", "0.5: 1s, 0.4: 10s", "it is no probability above the one before"},
		{"0.5: 1s, 1: 10s", "0.5: 11s, 1: 10s", "it is below the quantile before; give rising values"},
		{"expect:", "lasts: 3s\n        expect:", "states.work: a step either lasts, or is expected to take a time"},
		{"expect:", "every: 3s\n        expect:", "states.work.every: what is repeated by the clock must end; give lasts"},
		{"expect:", "every: {exponential: 3s}\n        lasts:", "line 16, WORK.every: it may be drawn too short"},
		{"expect:", "mistakes: {way: {chance: 1%, again: 1s}}\n        expect:",
			"line 16, WORK.mistakes.way: there is no such mistake; choose from name, password"},
		{"end: 0.5", "ende: 0.5", "line 17, WORK.next.ende: there is no such state; choose from rest, work, end"},
		{", end: 0.5", "", "states.rest.next: no way leads from it to the end; give end a weight in its next"},
		{"end: 0.5", "end: 0", "no way leads from it to the end"},
		{"rest: 1, end: 0.5", "end: 0.5", "line 18, behaviours.tinker.states.rest: no way leads to it from work"},
		{"expect:", "more: {receives: 3KB}\n        expect:", "line 16, WORK.more.receives: without count there are no more"},
		{"do: files.get", "think: 1s\n        more: {receives: 3KB}", "states.work: without do it is a pause"},
		{"expect:", "connections: 0\n        keep: true\n        expect:", "line 17, WORK.keep: the step opens no connection"},
		{"expect:", "mistakes: {name: {chance: 1%, again: 1s}}\n        lasts:",
			"line 16, WORK.mistakes: a step that lasts cannot fail at once"},
		{"start: \"Sun 23:30\", ", "", `line 4, clock.start: it is missing; give one such as "Mon 08:00"`},
		{"compress: 2", "compress: 0", "line 4, clock.day.compress: it is 0; give 1 or more"},
		{"personas:", "services: {web: {site: 3}}\npersonas:", `line 5, services.web.site: "site" is no key of a service; give sites`},
		{"personas:", "services: {web: {sites: 3, sites: 4}}\npersonas:", `line 5, services.web.sites: "sites" is given twice`},
		{"personas:", "services: {web: 3}\npersonas:", "line 5, services.web: it is no mapping; give sites"},
		{"personas:", "services: {web: {sites: 0}}\npersonas:", "line 5, services.web.sites: it is 0"},
		{"personas:", "services: {voice: {between: 1}}\npersonas:", "line 5, services.voice.between: groups of users have two"},
		{"personas:", "services: {voice: {between: 3, zipf: 1}}\npersonas:", "line 5, services.voice.zipf: groups of users have no"},
		{"personas:", "services: {gopher: {sites: 3}}\npersonas:", "line 5, services.gopher: there is no such service"},
		{"personas:", "services: {web: {sites: 3, between: 3}}\npersonas:", "line 5, services.web.between: a service has either"},
	} {
		text := strings.Replace(good, c.old, c.changed, 1)
		want := strings.Replace(c.want, "WORK", "behaviours.tinker.states.work", 1)
		_, err := scenario.Parse([]byte(text))
		if text == good || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q instead of %q: %v, and not %q", c.changed, c.old, err, want)
		}
	}
}
