package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"pleat/api"
)

// service stands in for a running service: it answers what one would for a job of one chain.
func service() *httptest.Server {
	const job = "0197b1d4-8a3e-7c11-9c55-3f2b8f6f2c01"
	write := func(w http.ResponseWriter, v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			log.Print(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/jobs", func(w http.ResponseWriter, r *http.Request) {
		var in api.CreateJob
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = api.Decode(body, &in)
		}
		if err != nil || in.Name == "" {
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusBadRequest)
			write(w, api.Problem{
				Detail: "name is required and must not be empty",
				Errors: []api.FieldError{{Field: "name", Message: "name is required and must not be empty"}},
			})
			return
		}
		write(w, api.CreatedJob{JobID: job, JobName: in.Name, JobStatus: api.Initialized})
	})
	mux.HandleFunc("GET /v1/jobs/"+job+"/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, state := range []string{api.Running, api.Completed} {
			fmt.Fprintf(w, "id: %d\nevent: state\ndata: {\"seq\":%d,\"kind\":\"state\",\"state\":%q}\n\n", i+1, i+1,
				state)
		}
	})
	mux.HandleFunc("GET /v1/jobs/"+job+"/results", func(w http.ResponseWriter, _ *http.Request) {
		confidence := 87.5
		write(w, api.Results{
			Job:        api.Job{ID: job, Status: api.Completed},
			Prediction: api.Prediction{PredictionStatus: api.Completed, MeanPLLDT: &confidence},
		})
	})
	return httptest.NewServer(mux)
}

// Fold a protein: create a job and wait for its results.
func Example() {
	server := service()
	defer server.Close()
	client := &api.Client{Base: server.URL, Key: "my-key"}
	ctx := context.Background()

	job, err := client.CreateJob(ctx, api.CreateJob{
		Name:      "Trp-cage",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "DAYAQWLKDGGPSSGRPPPS"}}},
		Params:    &api.Params{ModelName: "mini"},
	}, api.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	results, err := client.Wait(ctx, job.JobID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, mean pLDDT %.1f\n", results.Job.Status, *results.Prediction.MeanPLLDT)
	// Output:
	// COMPLETED, mean pLDDT 87.5
}

// Create a job, see each of its events and read the results.
func ExampleClient_Follow() {
	server := service()
	defer server.Close()
	client := &api.Client{Base: server.URL, Key: "my-key"}
	ctx := context.Background()

	created, err := client.CreateJob(ctx, api.CreateJob{
		Name:      "Trp-cage",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "DAYAQWLKDGGPSSGRPPPS"}}},
		Params:    &api.Params{ModelName: "mini"},
	}, api.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.JobName, created.JobStatus)

	err = client.Follow(ctx, created.JobID, 0, func(e api.Event) error {
		fmt.Println(e.Kind, e.State)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	results, err := client.Results(ctx, created.JobID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, mean pLDDT %.1f\n", results.Job.Status, *results.Prediction.MeanPLLDT)
	// Output:
	// Trp-cage INITIALIZED
	// state RUNNING
	// state COMPLETED
	// COMPLETED, mean pLDDT 87.5
}

// Save the structure of a job.
func ExampleClient_Download() {
	client := &api.Client{Base: "http://127.0.0.1:8080", Key: "my-key"}
	ctx := context.Background()

	results, err := client.Results(ctx, "0197b1d4-8a3e-7c11-9c55-3f2b8f6f2c01")
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range results.Artifacts {
		if a.Kind != "cif" {
			continue
		}
		var file bytes.Buffer
		if err := client.Download(ctx, a, &file); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile("trp-cage.cif", file.Bytes(), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// Fold every mutation of two residues, and write the table of the scores.
func ExampleClient_CreateBatch() {
	client := &api.Client{Base: "http://127.0.0.1:8080", Key: "my-key"}
	ctx := context.Background()

	batch, err := client.CreateBatch(ctx, api.CreateBatch{
		Name:      "Trp-cage variants",
		Kind:      "variants",
		Params:    &api.Params{ModelName: "mini"},
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "DAYAQWLKDGGPSSGRPPPS"}}},
		Scan:      &api.MutationScan{From: 9, To: 10},
	}, api.CreateOptions{IdempotencyKey: "variants-of-9-and-10"})
	if err != nil {
		log.Fatal(err)
	}
	if err := client.FollowBatch(ctx, batch.BatchID, func(api.Batch) error { return nil }); err != nil {
		log.Fatal(err)
	}
	if err := client.BatchFile(ctx, batch.BatchID, "table.csv", api.RowsQuery{}, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// Ask a question about the structure of a job.
func ExampleClient_CreateWorkflow() {
	client := &api.Client{Base: "http://127.0.0.1:8080", Key: "my-key"}
	ctx := context.Background()

	workflow, err := client.CreateWorkflow(ctx, api.CreateWorkflow{
		WorkflowName: "qna_v1",
		Input: json.RawMessage(`{"targetSource": "fold_job", "source_job_id": "0197b1d4-8a3e-7c11-9c55-3f2b8f6f2c01",
			"question": "How many residues does it have?"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := client.FollowWorkflow(ctx, workflow.ID, 0, func(api.Event) error { return nil }); err != nil {
		log.Fatal(err)
	}
	workflow, err = client.Workflow(ctx, workflow.ID)
	if err != nil {
		log.Fatal(err)
	}
	var answer api.QnAResult
	if err := json.Unmarshal(workflow.Tasks[0].Result, &answer); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Answer)
}

// An error response says which fields of the request are at fault.
func ExampleError() {
	server := service()
	defer server.Close()
	client := &api.Client{Base: server.URL, Key: "my-key"}

	_, err := client.CreateJob(context.Background(), api.CreateJob{}, api.CreateOptions{})
	var refused *api.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Message)
		for _, fault := range refused.Faults {
			fmt.Printf("%s: %s\n", fault.Field, fault.Message)
		}
	}
	// Output:
	// 400 name is required and must not be empty
	// name: name is required and must not be empty
}

// Decode refuses what encoding/json accepts, and says where it is.
func ExampleDecode() {
	var job api.CreateJob
	err := api.Decode([]byte(`{"name": "x", "params": {"modelname": "mini"}}`), &job)
	var fault *api.DecodeError
	if errors.As(err, &fault) {
		fmt.Println(fault.Field)
		fmt.Println(fault.Message)
	}
	// Output:
	// params.modelname
	// unknown field "modelname" in params; did you mean "modelName"?
}
