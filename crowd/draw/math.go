package draw

import "math"

// The functions of package math differ between processors in the last bit, and a compiler may fuse a product and
// a sum into one rounding. Here each product is converted, which the language forbids to fuse ("explicit
// floating-point type conversion rounds"); math.Frexp, math.Ldexp, math.Floor and math.Sqrt are exact.

// ln2High has 32 bits, so that products with small integers are exact.
const ln2High, ln2Low = 0.6931471803691238, 1.9082149292705877e-10

// log is the natural logarithm: infinite of 0 and of infinity, and no number of what is below 0.
func log(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = m*2, e-1
	}
	// log m = 2 artanh s, with |s| < 0.172.
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.0
	for n := 21; n >= 1; n -= 2 {
		sum = float64(sum*square) + 1/float64(n)
	}
	return float64(float64(e)*ln2High) + (float64(2*s*sum) + float64(float64(e)*ln2Low))
}

// exp is e to the power of x.
func exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 709.7:
		return math.Inf(1)
	case x < -745:
		return 0
	}
	k := math.Floor(float64(x/math.Ln2) + 0.5)
	r := x - float64(k*ln2High) - float64(k*ln2Low) // |r| < 0.347
	sum := 1.0
	for n := 14; n >= 1; n-- {
		sum = 1 + float64(sum*r)/float64(n)
	}
	return math.Ldexp(sum, int(k))
}

// power is x to the power of y, for a positive x.
func power(x, y float64) float64 { return exp(float64(y * log(x))) }

// normalQuantile is the value below which a standard normal variable lies with probability p, to 16 digits
// (M. J. Wichura, algorithm AS 241, Applied Statistics 37, 1988).
func normalQuantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return float64(q*polynomial(r, nearA)) / polynomial(r, nearB)
	}
	tail := p
	if q > 0 {
		tail = 1 - p
	}
	r := math.Sqrt(-log(tail))
	var x float64
	if r <= 5 {
		x = polynomial(r-1.6, middleC) / polynomial(r-1.6, middleD)
	} else {
		x = polynomial(r-5, farE) / polynomial(r-5, farF)
	}
	if q < 0 {
		return -x
	}
	return x
}

// The coefficients of AS 241, as its paper names them; the lowest power is first.
var (
	nearA = []float64{3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3}
	nearB = []float64{1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}
	middleC = []float64{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4}
	middleD = []float64{1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}
	farE = []float64{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7}
	farF = []float64{1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}
)

func polynomial(x float64, coefficients []float64) float64 {
	sum := 0.0
	for i := len(coefficients) - 1; i >= 0; i-- {
		sum = float64(sum*x) + coefficients[i]
	}
	return sum
}
