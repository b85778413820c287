// Command serve runs the server of msatest for tests that are not written in Go, such as those of the page. It prints
// its address and ends when its standard input does.
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
