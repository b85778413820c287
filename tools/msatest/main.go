// Command msatest runs the MSA server of package msatest for tests that are not written in Go, such as those of the
// page. It prints the server's address and ends when its standard input does.
package main

import (
	"fmt"
	"io"
	"os"

	"pleat/internal/msa/msatest"
)

func main() {
	s := msatest.Start()
	defer s.Close()
	fmt.Println(s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
