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
// [Client.CreateWorkflow] asks questions about structures and simulates them. [All] reads a list page by page. Refusals
// are of the type [*Error], and [StatusOf] returns their HTTP status.
//
// Together with the OpenAPI document this package is the only public promise of the module. It imports only the
// standard library and internal/words, and knows nothing of how the service works.
package api
