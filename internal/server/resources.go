package server

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pleat/internal/blob"
	"pleat/internal/fair"
	"pleat/internal/garbage"
	"pleat/internal/seal"
	"pleat/internal/server/batches"
	"pleat/internal/server/flows"
	"pleat/internal/server/jobs"
	"pleat/internal/server/library"
	"pleat/internal/server/operators"
	"pleat/internal/server/people"
	"pleat/internal/server/progress"
	"pleat/internal/server/route"
	"pleat/internal/server/service"
	"pleat/internal/server/webhooks"
	"pleat/internal/submit"
	"pleat/internal/telemetry"
)

const (
	// maxExports is how many files of batches and of the audit log a caller may be sent at a time on a node;
	// strangerExports those that all callers without a valid credential may.
	maxExports, strangerExports = 2, 8
)

// resources are the handlers of all routes.
type resources struct {
	jobs      *jobs.Handlers
	batches   *batches.Handlers
	flows     *flows.Handlers
	library   *library.Handlers
	webhooks  *webhooks.Handlers
	people    *people.Handlers
	service   *service.Handlers
	operators *operators.Handlers
}

// routes returns the whole interface of the service.
func (r *resources) routes() []route.Route {
	return slices.Concat(r.jobs.Routes(), r.batches.Routes(), r.flows.Routes(), r.library.Routes(),
		r.webhooks.Routes(), r.people.Routes(), r.service.Routes(), r.operators.Routes())
}

// shared is what several resources use.
type shared struct {
	files        *route.Files
	progress     *progress.Progress
	computations *route.Computations
	cleaner      *garbage.Cleaner
	submit       *submit.Resolver
	exports      *fair.Streams
}

// newShared returns what several resources use.
func (s *Server) newShared(cfg *Config, d *Deps, blobs *blob.Monitor) *shared {
	st := d.Store
	cleaner := &garbage.Cleaner{Ops: st.Ops, Runs: st.Runs, Blobs: blobs, Log: d.Log}
	return &shared{
		files: route.NewFiles(blobs, seal.Links{Ring: d.Ring, Base: s.core.Site().Base, For: cfg.LinkFor}, d.Clock),
		progress: &progress.Progress{
			DB: st.DB, Runs: st.Runs, Demand: &progress.Demand{Workers: st.Workers},
		},
		computations: route.NewComputations(),
		cleaner:      cleaner,
		submit: &submit.Resolver{
			References:  submit.References{People: st.People, Runs: st.Runs, FetchPDB: cfg.ArchiveURLs.PDB != ""},
			Workers:     st.Workers,
			Batches:     st.Batches,
			Webhooks:    st.Webhooks,
			Cleaner:     cleaner,
			Blobs:       blobs,
			Guard:       d.Guard,
			Ring:        d.Ring,
			Archive:     cfg.ArchiveURLs,
			Installable: d.Installable,
			MaxTime:     cfg.MaxTime,
		},
		exports: &fair.Streams{Each: maxExports, Strangers: strangerExports, Of: "files of batches"},
	}
}

// newResources returns the handlers of all routes but the documentation and the agents of service, which need the
// routes.
func (s *Server) newResources(cfg *Config, d *Deps, blobs *blob.Monitor) *resources {
	st, common := d.Store, s.newShared(cfg, d, blobs)
	writer := library.NewWriter(library.WriterConfig{DB: st.DB, Runs: st.Runs, Blobs: blobs, Cleaner: common.cleaner})
	return &resources{
		jobs: &jobs.Handlers{
			Runs:         st.Runs,
			Webhooks:     st.Webhooks,
			Workers:      st.Workers,
			Ops:          st.Ops,
			Submit:       common.submit,
			Progress:     common.progress,
			Files:        common.files,
			Computations: common.computations,
			Cleaner:      common.cleaner,
			Cache:        jobs.NewCache(cfg.CacheBytes),
		},
		batches: batches.New(batches.Config{
			DB:           st.DB,
			People:       st.People,
			Runs:         st.Runs,
			Batches:      st.Batches,
			Submit:       common.submit,
			Files:        common.files,
			Computations: common.computations,
			Cleaner:      common.cleaner,
			Exports:      common.exports,
		}),
		flows: flows.New(flows.Config{
			Runs:         st.Runs,
			Ops:          st.Ops,
			Submit:       common.submit,
			Progress:     common.progress,
			Files:        common.files,
			Library:      writer,
			Computations: common.computations,
			Cleaner:      common.cleaner,
		}),
		library: &library.Handlers{
			People:  st.People,
			Runs:    st.Runs,
			Cleaner: common.cleaner,
			Files:   common.files,
			Writer:  writer,
		},
		webhooks: &webhooks.Handlers{
			DB:           st.DB,
			People:       st.People,
			Webhooks:     st.Webhooks,
			Guard:        d.Guard,
			Ring:         d.Ring,
			IngestSecret: cfg.IngestSecret,
		},
		people: &people.Handlers{
			DB:        st.DB,
			People:    st.People,
			Mails:     st.Mails,
			Ops:       st.Ops,
			Ring:      d.Ring,
			Logins:    s.logins,
			SendsMail: cfg.Mails,
			FetchPDB:  common.submit.FetchPDB,
		},
		service: s.newService(cfg, d, blobs, common.progress.Demand),
		operators: &operators.Handlers{
			DB:      st.DB,
			People:  st.People,
			Workers: st.Workers,
			Ops:     st.Ops,
			Submit:  common.submit,
			Disk:    d.Disk,
			Exports: common.exports,
			Began:   d.Clock(),
		},
	}
}

// newService returns the handlers of the routes about the server.
func (s *Server) newService(cfg *Config, d *Deps, blobs *blob.Monitor, demand *progress.Demand) *service.Handlers {
	h := &service.Handlers{
		DB:           d.Store.DB,
		Workers:      d.Store.Workers,
		Demand:       demand,
		Health:       &telemetry.Health{DB: d.Store.DB, Workers: d.Store.Workers, Blobs: blobs},
		Metrics:      promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}),
		MetricsToken: cfg.MetricsToken,
		OpenMetrics:  cfg.OpenMetrics,
		AgentCalls:   fair.Streams{Each: cfg.Streams, Of: "calls of " + route.AgentPath},
	}
	if d.Issuer != nil {
		h.Issuer = d.Issuer.Name()
	}
	return h
}
