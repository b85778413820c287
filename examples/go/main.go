// Command fold folds the 20 residues of Trp-cage at the server in PLEAT_URL, with the key in PLEAT_KEY.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"pleat/api"
)

func main() {
	ctx, client := context.Background(), &api.Client{Base: os.Getenv("PLEAT_URL"), Key: os.Getenv("PLEAT_KEY")}
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
	if results.Job.Status != api.Completed {
		log.Fatal(results.Job.Status)
	}
	fmt.Printf("%s: mean pLDDT %.1f\n", results.Job.Name, *results.Prediction.MeanPLLDT)
}
