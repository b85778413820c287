package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

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

// Create a job, wait for its end and read the results.
func ExampleClient() {
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
