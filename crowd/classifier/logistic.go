package classifier

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// logistic is a logistic regression: a weight for each term, and one for all.
type logistic struct{ weights []float64 }

// ridge is how strongly weights are held near 0, for each feature of which a row has terms: the sum of a row's weights is
// expected to have a variance of 10, however many features there are. Of 0.1, 1 and 5, this notices most wrong crowds.
const ridge = 0.1

// example is what is learnt from: the terms of a session, and whether it was played.
type example struct {
	terms  []term
	played bool
	weight float64
}

// learn finds the weights with which the examples are likeliest (L-BFGS).
func learn(all []example, count, features int) (logistic, error) {
	strength := ridge * float64(features)
	loss := func(w []float64) float64 {
		sum := strength / 2 * floats.Dot(w, w)
		for _, e := range all {
			sum += e.weight * softplus(-e.sign()*score(w, e.terms))
		}
		return sum / float64(len(all))
	}
	slope := func(into, w []float64) {
		floats.ScaleTo(into, strength, w)
		for _, e := range all {
			g := -e.sign() * e.weight / (1 + math.Exp(e.sign()*score(w, e.terms)))
			for _, t := range e.terms {
				into[t.at] += g * t.value
			}
			into[count] += g
		}
		floats.Scale(1/float64(len(all)), into)
	}
	found, err := optimize.Minimize(optimize.Problem{Func: loss, Grad: slope}, make([]float64, count+1),
		&optimize.Settings{GradientThreshold: 1e-5, MajorIterations: 500}, &optimize.LBFGS{})
	if found == nil {
		return logistic{}, err
	}
	return logistic{found.X}, nil // the best one, also where the last digits could not be had
}

// score is the logarithm of the odds that a session was played.
func (l logistic) score(terms []term) float64 { return score(l.weights, terms) }

func score(w []float64, terms []term) float64 {
	sum := w[len(w)-1]
	for _, t := range terms {
		sum += w[t.at] * t.value
	}
	return sum
}

func (e example) sign() float64 {
	if e.played {
		return 1
	}
	return -1
}

// softplus is log(1 + e^x), also where that is large.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
