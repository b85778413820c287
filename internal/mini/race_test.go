//go:build race

package mini

const raceDetector = true
