package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pleat"
	"pleat/internal/blob"
)

const (
	// diskAge is how old the measure of the free disk may be.
	diskAge = time.Second
	// diskWait is the Retry-After of what is refused because the disk is almost full: an operator must make space.
	diskWait = time.Minute
)

// disk measures the free space of the folders into which this node writes. Below the least free space it refuses new
// work, so that the results of what runs find space. Without a folder there is no limit.
type disk struct {
	folders []string
	least   int64 // bytes; 0: no limit
	clock   func() time.Time

	mu       sync.Mutex
	measured time.Time
	free     int64 // of the folder that has least
	err      error
}

// measure returns the free bytes of the fullest folder, at most diskAge old.
func (d *disk) measure() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock()
	if age := now.Sub(d.measured); !d.measured.IsZero() && age >= 0 && age < diskAge {
		return d.free, d.err
	}
	d.measured, d.free, d.err = now, 0, nil
	for i, folder := range d.folders {
		free, err := blob.FreeBytes(folder)
		if err != nil {
			d.err = err
			break
		}
		if i == 0 || free < d.free {
			d.free = free
		}
	}
	return d.free, d.err
}

// check refuses new work if less space is free than there must be. CodeUnavailable.
func (d *disk) check() error {
	if d.least == 0 || len(d.folders) == 0 {
		return nil
	}
	free, err := d.measure()
	if err == nil && free >= d.least {
		return nil
	}
	return &pleat.Error{
		Code: pleat.CodeUnavailable,
		Message: "the disk of the server is almost full, so it accepts no new jobs, workflows or files; " +
			"running work continues; try again later",
		Err: err,
	}
}

// Describe implements prometheus.Collector.
func (d *disk) Describe(ch chan<- *prometheus.Desc) { ch <- freeDesc }

// Collect implements prometheus.Collector.
func (d *disk) Collect(ch chan<- prometheus.Metric) {
	if free, err := d.measure(); err == nil && len(d.folders) > 0 {
		ch <- prometheus.MustNewConstMetric(freeDesc, prometheus.GaugeValue, float64(free))
	}
}

var freeDesc = prometheus.NewDesc("pleat_disk_free_bytes",
	"Free space of the folder of data or artifacts that has least.", nil, nil)
