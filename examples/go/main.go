// Command fold folds the 20 residues of Trp-cage at the server in PLEAT_URL (http://127.0.0.1:8080 unless it is set),
// with the key in PLEAT_KEY, which `pleat keys create --user NAME` creates.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"

	"pleat/api"
)

func main() {
	ctx := context.Background()
	client := &api.Client{Base: cmp.Or(os.Getenv("PLEAT_URL"), "http://127.0.0.1:8080"), Key: os.Getenv("PLEAT_KEY")}
	job, err := client.CreateJob(ctx, api.CreateJob{
		Name:      "Trp-cage",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: "DAYAQWLKDGGPSSGRPPPS"}}},
		Params:    &api.Params{ModelName: "mini"},
	}, api.CreateOptions{})
	if err != nil {
		log.Fatalf("create a job at %s: %v", client.Base, err)
	}
	results, err := client.Wait(ctx, job.JobID)
	if err != nil {
		log.Fatalf("wait for job %s: %v", job.JobID, err)
	}
	if results.Job.Status != api.Completed {
		log.Fatalf("job %s ended %s", job.JobID, results.Job.Status)
	}
	fmt.Printf("%s: mean pLDDT %.1f\n", results.Job.Name, *results.Prediction.MeanPLLDT)
}
