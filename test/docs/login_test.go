package docs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pleat/internal/identity/identitytest"
	"pleat/internal/testprogram"
)

// A person signs in on a terminal, and commands use that without a key until it ends.
func TestLogin(t *testing.T) {
	issuer := identitytest.New(t)
	issuer.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Groups: []string{"lab"}})
	config := t.TempDir()
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.Env = []string{"XDG_CONFIG_HOME=" + config, "HOME=" + config}
	secret := filepath.Join(config, "secret")
	if err := os.WriteFile(secret, []byte(identitytest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Serve("--oidc-client-secret-file", secret, "--oidc-issuer", issuer.URL, "--oidc-client-id",
		identitytest.Client, "--oidc-device-client-id", identitytest.DeviceClient, "--oidc-audience",
		identitytest.Audience)
	run := func(args ...string) (string, error) {
		cmd := n.Command(append(args, "--url", n.URL)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	want := func(text string, fails bool, args ...string) {
		t.Helper()
		if out, err := run(args...); (err != nil) != fails || !strings.Contains(out, text) {
			t.Errorf("%v printed %q, %v; want %q", args, out, err, text)
		}
	}
	want("or sign in with pleat login", true, "usage")
	want("nobody is signed in at "+n.URL, true, "logout")
	signIn := func(name string) (string, error) {
		t.Helper()
		cmd := n.Command("login", "--url", n.URL+"/")
		var out bytes.Buffer
		var said strings.Builder
		cmd.Stdout = &out
		errs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(errs)
		for lines.Scan() {
			if _, code, ok := strings.Cut(lines.Text(), "shows the code "); ok {
				code, _, _ = strings.Cut(code, ",")
				issuer.ApproveDevice(code, name)
			}
			said.WriteString(lines.Text() + "\n")
		}
		err = cmd.Wait()
		return said.String() + out.String(), err
	}
	if out, err := signIn(""); err == nil || !strings.Contains(out, "The sign-in was refused") {
		t.Errorf("a refused sign-in printed %q, %v", out, err)
	}
	if out, err := signIn("ada"); err != nil || !strings.Contains(out, "signed in at "+n.URL+" as ada") {
		t.Fatalf("the sign-in printed %q, %v", out, err)
	}
	file := filepath.Join(config, "pleat", "logins.json")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the tokens have the mode %v, %v", info.Mode(), err)
	}
	want("jobs        0 of", false, "usage")
	before := issuer.Requests(identitytest.PathToken)
	expire(t, file)
	processes := []*exec.Cmd{}
	for range 3 { // of which one refreshes
		cmd := n.Command("usage", "--url", n.URL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		processes = append(processes, cmd)
	}
	for _, cmd := range processes {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := issuer.Requests(identitytest.PathToken) - before; got != 1 {
		t.Errorf("the tokens were refreshed %d times", got)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	want("can be read by other users of this machine", true, "usage")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	issuer.SetGone(true)
	expire(t, file)
	want("does not answer", true, "usage")
	issuer.SetGone(false)
	want("jobs        0 of", false, "usage")
	want("signed out at "+n.URL, false, "logout")
	if issuer.Revoked() != 1 {
		t.Error("the refresh token still counts")
	}
	want("or sign in with pleat login", true, "usage")
	if out, err := signIn("ada"); err != nil {
		t.Fatal(out)
	}
	issuer.SetUser(identitytest.User{Subject: "s-ada", Name: "ada", Disabled: true})
	expire(t, file)
	want("your sign-in at "+n.URL+" has ended; sign in again with: pleat login", true, "usage")
}

// expire makes the access tokens in a file ones that have expired.
func expire(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for server, login := range all {
		tokens, _ := login["tokens"].(map[string]any)
		if tokens["expires"] == nil {
			t.Fatalf("the tokens of %s have no time: %v", server, tokens)
		}
		tokens["expires"] = time.Now()
	}
	if text, err = json.Marshal(all); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
