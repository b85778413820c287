package scenario

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands of scenarios about workflows and the library:
//
//	awaitflow WORKFLOW STATE as USER
//	    poll a workflow until its state, for at most three minutes; the response is the workflow
//	upload ITEM FILE as USER
//	    put a file into a library item, as a form
func init() {
	scenarioCommands["awaitflow"] = awaitflowCommand
	scenarioCommands["upload"] = uploadCommand
}

func awaitflowCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 4, "awaitflow WORKFLOW STATE as USER")
	awaitState(ts, "/v1/workflows/"+args[0], "status", 3*time.Minute, args[1:])
}

func uploadCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 4, "upload ITEM FILE as USER")
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("files", filepath.Base(args[1]))
	ts.Check(err)
	_, err = part.Write([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(form.Close())
	req, _ := request(ts, []string{"POST", "/v1/library/" + args[0] + "/upload-files", args[2], args[3], "with",
		"Content-Type: " + form.FormDataContentType()})
	raw, err := http.NewRequest(req.Method, req.URL.String(), &b)
	ts.Check(err)
	raw.Header = req.Header
	a, err := send(raw)
	ts.Check(err)
	scenarioOf(ts).last = a
	ts.Logf("%d %s", a.status, excerpt(a.body))
}
