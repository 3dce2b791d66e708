package bench

import "strconv"

// endFigures are about the CPUs of a run's two ends, in percent of that CPU, as mpstat shows
// them. Only runs on separate cores have them. Within one kernel the sender's CPU carries a
// packet to the receiver's socket, so most of the receiver's softirq counts at the sender.
func endFigures() (all []Figure) {
	for _, end := range []string{"sender", "receiver"} {
		for _, part := range []string{"system", "softirq", "idle"} {
			all = append(all, Figure{end + "-" + part, "% of its CPU", Informative})
		}
	}
	return all
}

// addEnds reads the window's CPUs.
func (w *Window) addEnds(figures map[string]float64, at cores) {
	if at.client == at.server || w.Seconds <= 0 {
		return
	}
	for end, cpu := range map[string]int{"sender": at.client, "receiver": at.server} {
		c := w.spentBy("cpu" + strconv.Itoa(cpu))
		figures[end+"-system"] = 100 * c.System / w.Seconds
		figures[end+"-softirq"] = 100 * c.SoftIRQ / w.Seconds
		figures[end+"-idle"] = 100 - c.Percent
	}
}
