package crash

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/blob/blobtest"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// operated is the environment of commands of one service on a database.
func operated(t *testing.T, database string) map[string]string {
	t.Helper()
	return map[string]string{
		"PLEAT_DATABASE":   database,
		"PLEAT_DATA":       t.TempDir(),
		"PLEAT_BLOBS":      filepath.Join(t.TempDir(), "blobs"),
		"PLEAT_SECRET_KEY": strings.Repeat("ab", 32),
		"PLEAT_LOG_LEVEL":  "error",
	}
}

// version returns the version of a database's schema; 0 if an SQLite database does not exist, which it does not create.
func version(t *testing.T, database string) int64 {
	t.Helper()
	c := config.Default()
	c.Database = database
	if _, missing := app.MissingDatabase(c); missing {
		return 0
	}
	s, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.DB.Close()
	v, err := s.DB.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wantRefused runs a command that must end with a code, one sentence and no change of the schema.
func wantRefused(t *testing.T, env map[string]string, code int, text string, args ...string) {
	t.Helper()
	before := version(t, env["PLEAT_DATABASE"])
	got, out, errs := runProgram(t, env, args...)
	if got != code || !strings.Contains(errs, text) || strings.Count(errs, "\n") != 1 {
		t.Errorf("%v: code %d: %s%s; want %d and %q", args, got, out, errs, code, text)
	}
	if after := version(t, env["PLEAT_DATABASE"]); after != before {
		t.Errorf("%v changed the schema from %d to %d", args, before, after)
	}
}

// untouched returns the address of a database that exists and has no tables yet.
func untouched(t *testing.T, fresh func(testing.TB) string) string {
	t.Helper()
	database := fresh(t)
	s, err := store.Open(t.Context(), database, store.Options{}) // makes the file of an SQLite database
	if err == nil {
		err = s.DB.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// No server, worker or command uses or changes a database that an unreleased build has migrated, and doctor says so.
func TestUnreleasedDatabaseIsRefused(t *testing.T) {
	for name, migrated := range storetest.Migrated() {
		t.Run(name, func(t *testing.T) {
			env := operated(t, migrated(t))
			storetest.Exec(t, env["PLEAT_DATABASE"], "ALTER TABLE schema_version RENAME TO goose_db_version")
			tables := func() [][]string {
				return storetest.QueryAt(t, env["PLEAT_DATABASE"], "SELECT version_id FROM goose_db_version")
			}
			before := tables()
			for _, args := range [][]string{
				{"serve", "--addr", "127.0.0.1:0"}, {"worker"}, {"migrate"}, {"keys", "list"}, {"fsck"},
			} {
				code, out, errs := runProgram(t, env, args...)
				if code != exitFailed || errs != "pleat: "+db.ErrUnreleased.Error()+"\n" {
					t.Errorf("%v: code %d: %s%s", args, code, out, errs)
				}
			}
			_, out, _ := runProgram(t, env, "doctor")
			if !strings.Contains(out, "FAILED database") || !strings.Contains(out, db.ErrUnreleased.Error()) {
				t.Errorf("doctor: %s", out)
			}
			if d := cmp.Diff(before, tables()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A node that cannot start changes no database: its address is in use, its artifact store cannot be reached or belongs
// to another database, its engines are not installed, or it may not migrate.
func TestNodeChecksBeforeItMigrates(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	foreign := t.TempDir()
	if err := os.Mkdir(filepath.Join(foreign, "store"), 0o700); err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(foreign, "store", "x.json")
	if err := os.WriteFile(marker, []byte(`{"database":"y"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, fresh := range storetest.Databases() {
		for state, make := range map[string]func(t *testing.T) string{
			"new":   func(t *testing.T) string { return fresh(t) },
			"empty": func(t *testing.T) string { return untouched(t, fresh) },
		} {
			t.Run(name+"/"+state, func(t *testing.T) {
				env := operated(t, make(t))
				env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"] = "test", "test-secret"
				serve := []string{"serve", "--addr", "127.0.0.1:0"}
				address := busy.Addr().String()
				wantRefused(t, env, exitFailed, "cannot listen on "+address+": bind: address already in use",
					"serve", "--addr", address)
				wantRefused(t, env, exitFailed, "pleat migrate", append(serve, "--migrate=false")...)
				wantRefused(t, env, exitFailed, "pleat migrate", "worker", "--migrate=false")
				wantRefused(t, env, exitUsage, "belongs to another database", append(serve, "--blobs", foreign)...)
				wantRefused(t, env, exitFailed, `s3 bucket "none" cannot be reached`,
					append(serve, "--blobs", "s3://none?region=us-east-1&endpoint=http://127.0.0.1:1")...)
				wantRefused(t, env, exitUsage, "nosuchengine", append(serve, "--engines", "nosuchengine")...)
				wantRefused(t, env, exitUsage, "nosuchengine", "worker", "--engines", "nosuchengine")
				env["PLEAT_SECRET_KEY"], env["PLEAT_SECRET_KEY_FILE"] = "", filepath.Join(t.TempDir(), "none")
				wantRefused(t, env, exitFailed, "secret-key-file", serve...)
			})
		}
	}
}

// started starts and stops a server with an environment.
func started(t *testing.T, env map[string]string) {
	t.Helper()
	n := testprogram.NewNode(t, env["PLEAT_DATABASE"])
	for k, v := range env {
		n.Env = append(n.Env, k+"="+v)
	}
	n.Serve()
	n.Stop()
}

// No server, worker or command uses a database with another secret key or artifact store, and doctor says so. A lost
// key or store can be replaced deliberately.
func TestAnotherSecretOrStore(t *testing.T) {
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			env := operated(t, fresh(t))
			started(t, env)
			_, out, errs := runProgram(t, env, "doctor")
			if !strings.Contains(out, "secret key     is that of the database") ||
				!strings.Contains(out, "blobs keeps files") ||
				strings.Count(out, "FAILED") != 1 || !strings.Contains(out, "FAILED workers") { // the node has stopped
				t.Errorf("doctor: %s%s", out, errs)
			}
			wantFiles(t, env["PLEAT_BLOBS"], "store/")
			right, store := env["PLEAT_SECRET_KEY"], env["PLEAT_BLOBS"]
			wrong := strings.Repeat("cd", 32)
			env["PLEAT_SECRET_KEY"] = wrong
			const another = "has another secret key than the nodes of this database"
			wantRefused(t, env, exitUsage, another, "serve", "--addr", "127.0.0.1:0")
			wantRefused(t, env, exitUsage, another, "worker")
			wantRefused(t, env, exitUsage, another, "secrets", "rotate")
			_, out, _ = runProgram(t, env, "doctor")
			if !strings.Contains(out, "FAILED secret key") || strings.Contains(out, wrong) {
				t.Errorf("doctor: %s", out)
			}
			env["PLEAT_SECRET_KEY"], env["PLEAT_BLOBS"] = right, filepath.Join(t.TempDir(), "empty")
			if _, out, _ := runProgram(t, env, "doctor"); !strings.Contains(out, "FAILED artifacts") ||
				!strings.Contains(out, "adopted at dir:"+store) {
				t.Errorf("doctor: %s", out)
			}
			const other = "not the one of the database"
			wantRefused(t, env, exitUsage, other, "serve", "--addr", "127.0.0.1:0")
			wantRefused(t, env, exitUsage, other, "worker")
			wantRefused(t, env, exitUsage, other, "fsck")
			if code, out, errs := runProgram(t, env, "fsck", "--adopt"); code != exitOK {
				t.Errorf("fsck --adopt: %d %s%s", code, out, errs)
			}
			env["PLEAT_SECRET_KEY"] = wrong
			if code, out, errs := runProgram(t, env, "secrets", "adopt"); code != exitOK {
				t.Errorf("secrets adopt: %d %s%s", code, out, errs)
			}
			started(t, env)
			env["PLEAT_SECRET_KEY"] = right
			wantRefused(t, env, exitUsage, another, "worker")
		})
	}
}

// wantFiles checks that all files of an artifact store begin with a prefix, and that there is one.
func wantFiles(t *testing.T, folder, prefix string) {
	t.Helper()
	b, err := blob.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	n := 0
	err = b.Walk(t.Context(), "", time.Time{}, func(i blob.Info) error {
		if n++; !strings.HasPrefix(i.Key, prefix) {
			t.Errorf("%s is left", i.Key)
		}
		return nil
	})
	if n == 0 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

// The generated key of a data folder is not replaced silently by a new one when it is missing.
func TestGeneratedKeyIsMissing(t *testing.T) {
	env := operated(t, "sqlite:"+filepath.Join(t.TempDir(), "pleat.db"))
	env["PLEAT_SECRET_KEY"] = ""
	started(t, env)
	file := filepath.Join(env["PLEAT_DATA"], "secret.key")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, env, exitUsage, "the secret key of the database is missing: "+file, "worker")
	if _, err := os.Stat(file); err == nil {
		t.Error("a new key was generated")
	}
}

// The doctor says what to do about a database and an S3 server that cannot be reached.
func TestDoctorRemedies(t *testing.T) {
	env := operated(t, "postgres://u:hush@127.0.0.1:1/none")
	env["PLEAT_BLOBS"] = "s3://none?region=us-east-1&endpoint=http://127.0.0.1:1"
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	_, out, _ := runProgram(t, env, "doctor")
	for _, want := range []string{"PLEAT_DATABASE names its host, port, user and database",
		"check the bucket, endpoint and region in PLEAT_BLOBS"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	env["PLEAT_BLOBS"] = blobtest.Address(t, blobtest.Bucket(t), "")
	if _, out, _ := runProgram(t, env, "doctor"); !strings.Contains(out, "ok     artifacts") {
		t.Errorf("with S3:\n%s", out)
	}
}

// fsck reports a file that is missing and one without a row.
func TestFsck(t *testing.T) {
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			env := operated(t, fresh(t))
			started(t, env)
			if code, out, errs := runProgram(t, env, "fsck", "--deep"); code != exitOK ||
				!strings.HasPrefix(out, "0 files checked: 0 missing, 0 damaged; 0 orphans") {
				t.Errorf("%d %s%s", code, out, errs)
			}
			s := storetest.OpenAt(t, env["PLEAT_DATABASE"], nil)
			storetest.CompleteFold(t, s, storetest.NewFold(storetest.User(t, s, "ada"), "x"))
			orphan := filepath.Join(env["PLEAT_BLOBS"], "runs", "y")
			if err := os.MkdirAll(filepath.Dir(orphan), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(orphan, []byte("123"), 0o600); err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-2 * time.Hour)
			if err := os.Chtimes(orphan, old, old); err != nil {
				t.Fatal(err)
			}
			code, out, errs := runProgram(t, env, "fsck")
			if code != exitFailed || !strings.HasPrefix(errs, "pleat: 1 file missing or damaged") ||
				!strings.Contains(out, "missing  runs/x/1/model.cif: a row refers to it\n") ||
				!strings.Contains(out, "orphan   runs/y: 3 bytes\n") {
				t.Errorf("%d %s%s", code, out, errs)
			}
			if _, err := os.Stat(orphan); err != nil {
				t.Error("fsck deleted a file")
			}
		})
	}
}

// No command but those of servers and migrate creates a database, even in a data folder that exists.
func TestCommandsCreateNoDatabase(t *testing.T) {
	for _, args := range [][]string{{"keys", "create", "--user", "ada"}, {"keys", "list"}, {"keys", "revoke", "x"},
		{"users", "grant", "ada", "operator"}, {"secrets", "rotate"}, {"secrets", "adopt"}, {"fsck"}, {"fsck", "--adopt"}} {
		for _, folder := range []string{t.TempDir(), filepath.Join(t.TempDir(), "mistyped")} {
			env := operated(t, "")
			env["PLEAT_DATA"] = folder
			code, out, errs := runProgram(t, env, args...)
			if code != exitFailed || out != "" || !strings.Contains(errs, "there is no database "+folder+"/pleat.db") {
				t.Errorf("%v: %d %s%s", args, code, out, errs)
			}
			if left, _ := os.ReadDir(folder); len(left) != 0 {
				t.Errorf("%v created %v", args, left)
			}
		}
	}
	env := operated(t, "")
	if code, _, errs := runProgram(t, env, "keys", "create", "--user", "ada", "--init"); code != exitOK {
		t.Errorf("with --init: %s", errs)
	}
	if code, out, errs := runProgram(t, env, "keys", "list"); code != exitOK || !strings.Contains(out, "ada") {
		t.Errorf("%s%s", out, errs)
	}
}
