package pleat_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/calvados"
	"pleat/internal/store/tasks"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// numberWords are the numbers that prose spells out.
var numberWords = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// Numbers that the documentation repeats are those of the code. Each pattern has one group, the number: digits with
// commas, or a word. White space in a pattern also matches the end of a line. A reworded sentence needs its pattern
// reworded; a pattern that matches nothing fails.
func TestDocumentedNumbers(t *testing.T) {
	const page, number = "docs/", `([a-z]+|[\d,]+)`
	for _, c := range []struct {
		file, pattern string
		want          int
	}{
		{"interface.md", `A body may have ` + number + ` levels`, api.MaxDepth},
		{"interface.md", `levels and ` + number + ` bytes`, api.MaxBody},
		{"interface.md", `bytes, and ` + number + ` values in its`, api.MaxValues},
		{"operations.md", `A run that kills its worker ` + number + ` times fails`, tasks.DefaultTries},
		{"operations.md", `its job is tried again in a new one, ` + number + ` times at most`, tasks.DefaultTries},
		{"operations.md", `renews its claims every ` + number + ` seconds`, seconds(pleat.HeartbeatInterval)},
		{"operations.md", `goes silent for ` + number + ` seconds`, seconds(pleat.LeaseDuration)},
		{"webhooks.md", number + ` attempts in about three days`, webhooks.DeliveryTries},
		{"webhooks.md", `with ` + number + ` attempts of its own`, webhooks.DeliveryTries},
		{"webhooks.md", `within ` + number + ` seconds over`, seconds(webhook.DefaultTimeout)},
		{"webhooks.md", `rests for ` + number + ` s, then longer`, seconds(webhook.FirstPause)},
		{"webhooks.md", `fails for ` + number + ` days without one success`,
			int(webhook.DisableAfter / (24 * time.Hour))},
		{"dynamics.md", `Bounds: 2 to ` + number + ` residues`, calvados.MaxBeads},
		{"dynamics.md", `residues, ` + number + ` steps`, calvados.MaxSteps},
		{"dynamics.md", number + ` frames, 1 GiB`, calvados.MaxFrames},
		{"dynamics.md", `frames, ` + number + ` GiB of trajectory`, calvados.MaxBytes >> 30},
		{"dynamics.md", `trajectory, ` + number + ` to`, calvados.MinTemp},
		{"dynamics.md", number + ` K, 0 to`, calvados.MaxTemp},
		{"dynamics.md", `K, 0 to ` + number + ` mol/L`, calvados.MaxIonic},
	} {
		t.Run(fmt.Sprint(c.file, " ", c.pattern), func(t *testing.T) {
			text, err := os.ReadFile(page + c.file)
			if err != nil {
				t.Fatal(err)
			}
			pattern := regexp.MustCompile(strings.ReplaceAll(c.pattern, " ", `\s+`))
			found := pattern.FindAllStringSubmatch(string(text), -1)
			if len(found) == 0 {
				t.Fatalf("docs/%s has no text like %q", c.file, c.pattern)
			}
			for _, m := range found {
				if got, err := parseNumber(m[1]); err != nil || got != c.want {
					t.Errorf("docs/%s says %q; the code has %d", c.file, m[0], c.want)
				}
			}
		})
	}
}

// The waits between the attempts of a delivery are those of the schedule.
func TestDocumentedSchedule(t *testing.T) {
	text, err := os.ReadFile("docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var waits []string
	now := time.Unix(0, 0)
	for attempt := 1; ; attempt++ {
		at, again := webhook.Next(attempt, now, 0, 0.5)
		if !again {
			break
		}
		waits = append(waits, shortDuration(at.Sub(now)))
	}
	last := len(waits) - 1
	want := strings.Join(waits[:last], ", ") + " and " + waits[last]
	if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), want) {
		t.Errorf("docs/webhooks.md does not name the waits %s", want)
	}
}

func seconds(d time.Duration) int { return int(d / time.Second) }

func shortDuration(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprint(int(d/time.Hour), " h")
	case d%time.Minute == 0:
		return fmt.Sprint(int(d/time.Minute), " min")
	}
	return fmt.Sprint(int(d/time.Second), " s")
}

func parseNumber(text string) (int, error) {
	if i := slices.Index(numberWords, text); i >= 0 {
		return i, nil
	}
	return strconv.Atoi(strings.ReplaceAll(text, ",", ""))
}
