package client

import (
	"io"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/mcp"
)

// mcpCmd returns the command that serves a program of an AI model on its standard input and output, by the Model
// Context Protocol. It calls a server, as the other clients do, and ends with its input.
func mcpCmd() *cobra.Command {
	return inProject(&cobra.Command{
		Use:   "mcp",
		Short: "Let an AI model use a server, by the Model Context Protocol",
		Long: `Speaks the Model Context Protocol (MCP) on standard input and output, for programs that start it, such as
chat applications and coding agents. Its tools fold, ask, simulate and design on the server of --url with the key of
--key. A server offers the same at its address /mcp, to programs that can send a bearer token.`,
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		in := io.NopCloser(cmd.InOrStdin())
		err := mcp.Run(cmd.Context(), c, in, unclosed{cmd.OutOrStdout()})
		if cmd.Context().Err() != nil { // it was told to end
			return nil
		}
		return err
	})
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
