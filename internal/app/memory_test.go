package app

import (
	"testing"
)

// Memory is returned once after work, when the process has come to rest, and not while it works or has done nothing.
func TestRestBeginsAfterWork(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	var r rest
	for i, step := range []struct {
		allocated uint64
		begins    bool
		why       string
	}{
		{allocated: 30 * mb, why: "it is starting"},
		{allocated: 30*mb + 5000, begins: true, why: "it has started, and rests"},
		{allocated: 30*mb + 9000, why: "nothing happened since"},
		{allocated: 33 * mb, why: "it works"},
		{allocated: 33*mb + 10, why: "a single request leaves less than a collection is worth"},
		{allocated: 200 * mb, why: "it works"},
		{allocated: 300 * mb, why: "it still works"},
		{allocated: 301 * mb, begins: true, why: "it rests"},
		{allocated: 302 * mb, why: "it renews leases"},
		{allocated: 303 * mb, why: "it renews leases"},
		{allocated: 304 * mb, why: "it renews leases"},
		{allocated: 305*mb + 1, begins: false, why: "it works a little"},
		{allocated: 305*mb + 2, begins: true, why: "little by little, it has allocated as much as work does"},
	} {
		if got := r.begins(step.allocated); got != step.begins {
			t.Errorf("look %d, %d bytes allocated: %v; %s", i, step.allocated, got, step.why)
		}
	}
	if a, b := allocated(), allocated(); a == 0 || b < a {
		t.Errorf("the runtime has allocated %d bytes, then %d", a, b)
	}
}
