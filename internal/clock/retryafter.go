package clock

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter parses the header Retry-After in both of its forms (RFC 9110, section 10.2.3): seconds, of which fractions
// are rounded up, and a date, which is compared with the Date of the answer, since the clocks of two machines differ,
// and without one with now; nil: the machine's clock. It returns at most longest, and 0 if the value is absent, in the
// past or neither form. A number that no integer holds is longest, too: the server wants to be left alone.
func RetryAfter(h http.Header, now func() time.Time, longest time.Duration) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value != "" && strings.Trim(value, "0123456789.") == "" {
		seconds, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil && !math.IsInf(seconds, 1): // not a number, such as 1.2.3
			return 0
		case seconds >= longest.Seconds():
			return longest
		}
		return min(time.Duration(math.Ceil(seconds))*time.Second, longest)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		sent = Or(now)()
	}
	return min(max(at.Sub(sent), 0), longest)
}
