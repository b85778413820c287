// Package api is the Go client of Pleat and its wire types: the body of every request and response, with a strict JSON
// decoder. To fold a protein, create a job and wait for its results:
//
//	client := &api.Client{Base: "http://127.0.0.1:8080", Key: os.Getenv("PLEAT_KEY")}
//	job, err := client.CreateJob(ctx, api.CreateJob{
//		Name:      "Trp-cage",
//		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "DAYAQWLKDGGPSSGRPPPS"}}},
//		Params:    &api.Params{ModelName: "mini"},
//	}, api.CreateOptions{})
//	if err != nil {
//		return err // an *api.Error if the service refused the job: it names the fields at fault
//	}
//	results, err := client.Wait(ctx, job.JobID)
//	if err != nil {
//		return err
//	}
//	if results.Job.Status == api.Completed {
//		fmt.Println(*results.Prediction.MeanPLLDT)
//	}
//
// examples/go is a whole program, with a go.mod that takes this package from a checkout.
//
// [Client.CreateJob] returns at once. [Client.Wait] reconnects where its connection breaks, and [Client.Follow] calls a
// function with each step of the progress instead. [Client.Download] stores a file of the results. [Client.Models]
// lists the models of the service, [Client.CreateBatch] creates thousands of jobs at once, and
// [Client.CreateWorkflow] asks questions about structures and simulates them. Refusals are of the type [*Error].
//
// Together with the OpenAPI document this package is the only public promise of the module. It imports only the
// standard library and internal/words, and knows nothing of how the service works. The files:
//
//	api.go       Time, Error, List, states
//	job.go       POST /v1/jobs and its body
//	batch.go, batch_client.go  batches and their tables
//	alignment.go  alignments of proteins
//	result.go    GET /v1/jobs/{id}/results
//	workflow.go  questions about structures, and dynamics
//	compare.go, compare_client.go  comparisons of structures
//	library.go   the files of a project
//	accounting.go  what runs have spent, budgets
//	operator.go  what operators see and do, and their client
//	view.go      lists, one job, progress, models, usage, keys
//	webhook.go   endpoints, deliveries, ingested events; notification.go: what is delivered
//	people.go, people_client.go  projects, their members, links and moves
//	mail.go, mail_client.go      which mails a person gets
//	decode.go    Decode: strict JSON; scan.go is its lexer
//	encode.go    Encode: JSON without HTML escapes
//	client.go    Client: one method per endpoint
//	stream.go    event streams, with reconnects
package api
