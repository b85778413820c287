package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// workersCmd returns the group of commands on the workers of a service. They call a server with the key of an operator.
func workersCmd() *cobra.Command {
	return cli.Group("workers", "List the workers of a service, and let one drain, with the key of an operator", "",
		workersList(), workersDrain())
}

// workersList returns the command that lists the workers.
func workersList() *cobra.Command {
	return cli.WithJSON(onServer(&cobra.Command{
		Use:   "list",
		Short: "List the workers that are alive or may come back",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		list, err := c.Workers(cmd.Context())
		if err != nil {
			return err
		}
		head := []string{"WORKER", "HOST", "CLASS", "STATE", "TASKS", "SEEN", "MODELS"}
		return printList(cmd, list, head, func(w *api.OperatorWorker) []string {
			return []string{w.ID, w.Host, w.Class, w.State, strconv.Itoa(w.Tasks), w.SeenAt.Format(time.DateTime),
				strings.Join(w.Models, ",")}
		})
	}))
}

// workersDrain returns the command that lets a worker drain.
func workersDrain() *cobra.Command {
	return cli.WithJSON(onServer(&cobra.Command{
		Use:   "drain WORKER",
		Short: "Let a worker claim nothing more and end when its tasks have ended",
		Long: `Asks a worker to claim nothing more, and to end when its tasks have ended. It is given by its id, or by
its host if that has one live worker. The worker of a server ends,
and the server goes on; start the server again to bring its worker back. A worker that the fleet has started is
replaced if its class needs it.`,
		Example: `  pleat workers list --json | jq -r '.data[] | select(.host == "node7").workerId' |
    xargs -n 1 pleat workers drain`,
		Args: cli.ExactArgs("the id or the host of a worker"),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		id, err := workerOn(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		d, err := c.DrainWorker(cmd.Context(), id)
		if api.StatusOf(err) == http.StatusNotFound {
			return errNoWorker
		}
		if err != nil {
			return err
		}
		return cli.PrintLine(cmd, d, d.ID+" drains")
	}))
}

// errNoWorker says where the ids of workers are; the server's own message names a route.
var errNoWorker = errors.New("Worker not found; pleat workers list lists the workers")

// workerOn returns the id of the worker that an argument gives: what is not the host of a live worker is an id. If a
// host has several, one must be chosen by its id.
func workerOn(ctx context.Context, c *api.Client, text string) (string, error) {
	if pleat.IsUUID(text) {
		return text, nil
	}
	list, err := c.Workers(ctx)
	if err != nil {
		return "", err
	}
	var ids []string
	for i := range list.Data {
		if w := &list.Data[i]; w.Host == text && w.State == "live" {
			ids = append(ids, w.ID)
		}
	}
	switch len(ids) {
	case 0:
		return text, nil
	case 1:
		return ids[0], nil
	}
	return "", cli.Usagef("%s has %d live workers; name one by its id: %s", pleat.Clip(text), len(ids),
		strings.Join(ids, " or "))
}
