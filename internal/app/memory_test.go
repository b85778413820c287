package app

import "testing"

// A process becomes idle once after work, and neither while it works nor again while it is idle.
func TestIdleDetector(t *testing.T) {
	t.Parallel()
	const mb, little = 1 << 20, idleBytes
	var d idleDetector
	for i, look := range []struct {
		allocated uint64
		idle      bool
		why       string
	}{
		{allocated: 30 * mb, why: "it is starting"},
		{allocated: 30*mb + little, why: "it has been quiet for one interval"},
		{allocated: 30*mb + 2*little, idle: true, why: "it has been quiet for two"},
		{allocated: 30*mb + 3*little, why: "it has been idle since"},
		{allocated: 32 * mb, why: "it works"},
		{allocated: 32 * mb, why: "one interval"},
		{allocated: 32 * mb, why: "what it has allocated is not worth a collection"},
		{allocated: 200 * mb, why: "it works"},
		{allocated: 200*mb + little, why: "one interval"},
		{allocated: 201 * mb, why: "it works again"},
		{allocated: 201 * mb, why: "one interval"},
		{allocated: 201 * mb, idle: true, why: "two intervals"},
	} {
		if got := d.becameIdle(look.allocated); got != look.idle {
			t.Errorf("look %d, %d bytes allocated: %v; %s", i, look.allocated, got, look.why)
		}
	}
	for range 20 {
		d.becameIdle(d.last + little)
	}
	if got := d.last - d.returned; got > workBytes {
		t.Errorf("%d bytes allocated little by little are not returned", got)
	}
	if a, b := allocated(), allocated(); a == 0 || b < a {
		t.Errorf("the runtime has allocated %d bytes, then %d", a, b)
	}
}
