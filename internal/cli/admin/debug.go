package admin

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat/internal/cli"
	"pleat/internal/config"
)

// debugCmd returns the command that groups what helps to find faults of the program itself.
func debugCmd() *cobra.Command {
	return cli.Group("debug", "Collect what a report of a fault needs",
		"Collects what helps others to find a fault of the service.", debugBundle())
}

// debugBundle returns the command that writes an archive for a bug report. Settings are those of pleat serve.
func debugBundle() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "bundle [FILE]",
		Short: "Write an archive for a bug report: versions, settings, doctor, metrics, log",
		Long: `Writes a tar.gz archive that others can look at to find a fault: the versions of pleat, its engines and
the database; the settings without secrets; what pleat doctor says; queues, workers and running jobs without
the names of users; the machine. From the running server or worker, if metrics-listen and metrics-token are
set, come its metrics, its goroutines and the last 1000 lines of its log; run the command with the settings of
that process. A part that cannot be had is missing, and errors.txt in the archive says why.

The archive has no sequences, no names of jobs, no keys, tokens or passwords. It does have the names of machines
and folders, and identifiers of jobs and users. Look at it before you send it. FILE must not exist; the default
is a name with the time in the current folder. It takes at most two minutes.`,
		Example: `  pleat debug bundle
  pleat debug bundle --config /etc/pleat/pleat.yaml /tmp/bundle.tar.gz`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.ExactArgs("a file")(cmd, args)
			}
			return nil
		},
	}, func(cmd *cobra.Command, c config.Config, args []string) error {
		now := time.Now().UTC()
		name := "pleat-debug-" + now.Format("20060102-150405") + ".tar.gz"
		if len(args) == 1 {
			name = args[0]
		}
		return writeBundle(cmd.Context(), cmd.OutOrStdout(), c, name, now)
	}, config.Store, config.Files, config.Server, config.Node, config.Engine, config.Log)
}

const (
	// bundleTime bounds the collection of a bundle, and partTime that of a part.
	bundleTime = 2 * time.Minute
	partTime   = 45 * time.Second
	// maxPart bounds a part, in bytes. A longer one is cut off, with a note.
	maxPart = 4 << 20
)

// bundlePart is a file of the bundle. An error is noted, and what was written is kept.
type bundlePart struct {
	name  string
	what  string // it has, for the reader
	write func(ctx context.Context, w io.Writer, c config.Config) error
}

// bundleParts are the files of a bundle, in their order.
var bundleParts = []bundlePart{
	{"versions.json", "versions of pleat, its build, the database, its schema and the engines", bundleVersions},
	{"settings.txt", "settings that are not at their defaults, without secrets", bundleSettings},
	{"doctor.txt", "what pleat doctor says", bundleDoctor},
	{"machine.txt", "processors, memory, disks and accelerators", bundleMachine},
	{"activity.json", "paused models, queues, workers and running jobs, without users", bundleActivity},
	{"metrics.txt", "metrics of the running process", fromProcess("/metrics")},
	{"goroutines.txt", "what the running process does", fromProcess("/debug/goroutines")},
	{"log.txt", "the last lines of its log, without the addresses of callers", bundleLog},
}

// writeBundle collects the parts and writes them into a new file, which only its user can read. It prints what is in
// it.
func writeBundle(ctx context.Context, out io.Writer, c config.Config, name string, now time.Time) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.Usagef("%s exists; name a file that does not", name)
	}
	if errors.Is(err, os.ErrNotExist) {
		return cli.Usagef("the folder of %s does not exist", name)
	}
	if err != nil {
		return err
	}
	b := newBundle(file, now)
	hide := newScrubber(c, os.Environ())
	ctx, cancel := context.WithTimeout(ctx, bundleTime)
	defer cancel()
	var missing []string
	for _, part := range bundleParts {
		text := &limitedText{left: maxPart}
		partCtx, done := context.WithTimeout(ctx, partTime)
		fault := part.write(partCtx, text, c)
		done()
		if fault != nil {
			missing = append(missing, part.name+": "+hide.clean(cli.ErrorLine(fault)))
		}
		if text.Len() > 0 {
			b.add(part.name, part.what, hide.clean(text.String()))
		}
	}
	if len(missing) > 0 {
		b.add("errors.txt", "what could not be collected", strings.Join(missing, "\n")+"\n")
	}
	if err := errors.Join(b.close(), file.Close()); err != nil {
		_ = os.Remove(name)
		return fmt.Errorf("%s cannot be written: %w", name, err)
	}
	return b.report(out, name, missing)
}

// bundle writes the files of an archive.
type bundle struct {
	tar  *tar.Writer
	gzip *gzip.Writer
	now  time.Time
	dir  string
	list [][]string // name, size, what it is
	err  error      // the first
}

func newBundle(w io.Writer, now time.Time) *bundle {
	z := gzip.NewWriter(w)
	return &bundle{tar: tar.NewWriter(z), gzip: z, now: now, dir: "pleat-debug-" + now.Format("20060102-150405")}
}

// add writes a file.
func (b *bundle) add(name, what, text string) {
	b.list = append(b.list, []string{name, config.Bytes(len(text)).String(), what})
	b.file(name, text)
}

func (b *bundle) file(name, text string) {
	head := &tar.Header{Name: b.dir + "/" + name, Mode: 0o600, Size: int64(len(text)), ModTime: b.now}
	err := b.tar.WriteHeader(head)
	if err == nil {
		_, err = io.WriteString(b.tar, text)
	}
	b.err = cmp.Or(b.err, err)
}

// close writes the list of the files as the last of them, and ends the archive.
func (b *bundle) close() error {
	var list bytes.Buffer
	fmt.Fprintf(&list, "A debug bundle of pleat, made at %s.\nLook at the files before you send them to anybody.\n\n",
		b.now.Format("2006-01-02 15:04:05 UTC"))
	_ = cli.PrintTable(&list, b.list) // a buffer takes all
	b.file("README.txt", list.String())
	return errors.Join(b.err, b.tar.Close(), b.gzip.Close())
}

// report prints what is in the archive, what is missing, and what the user is to do.
func (b *bundle) report(out io.Writer, name string, missing []string) error {
	var text bytes.Buffer
	_ = cli.PrintTable(&text, b.list)
	for _, m := range missing {
		fmt.Fprintln(&text, "not complete: "+m)
	}
	fmt.Fprintf(&text, "\nwrote %s. It has no secrets, sequences or names of jobs that pleat knows of, but names of "+
		"machines and folders, and identifiers of jobs and users.\n"+
		"Look at it before you send it: tar -xzOf %s | less\n", name, name)
	_, err := text.WriteTo(out)
	return err
}

// limitedText keeps text up to a size and notes that more was cut off.
type limitedText struct {
	strings.Builder
	left int
}

func (t *limitedText) Write(b []byte) (int, error) {
	if t.left <= 0 {
		return len(b), nil
	}
	n := min(len(b), t.left)
	t.Builder.Write(b[:n])
	if t.left -= n; t.left == 0 {
		t.Builder.WriteString("\n(the rest was cut off)\n")
	}
	return len(b), nil
}

// scrubber removes secrets from text: those that are known, and what has the form of one. The parts have none of them
// by intention; it is for a library that puts one into a message.
type scrubber struct{ known *strings.Replacer }

// secretName matches the names of environment variables whose values are secret.
var secretName = regexp.MustCompile(`(?i)secret|token|password|passwd|passphrase|credential|_key|apikey|authorization`)

// secretForms match keys and tokens of the service, secrets of webhooks, credentials of HTTP, and passwords in URLs.
var secretForms = regexp.MustCompile(
	`\bpleat[a-z]*_[A-Za-z0-9_-]{20,}|\bwhsec_[A-Za-z0-9+/=_-]+|(?i:\b(bearer|basic) )[A-Za-z0-9._~+/=-]{8,}`)

var userOfURL = regexp.MustCompile(`://[^/\s@"']+@`)

// newScrubber returns one that knows the secrets of the configuration and of an environment, as os.Environ returns it.
func newScrubber(c config.Config, environ []string) *scrubber {
	known := c.Secrets()
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if secretName.MatchString(name) {
			known = append(known, value)
		}
	}
	if key, err := os.ReadFile(cmp.Or(c.SecretFile, c.GeneratedKeyFile())); err == nil {
		known = append(known, strings.TrimSpace(string(key)))
	}
	slices.SortFunc(known, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, s := range slices.Compact(known) {
		if len(s) >= 6 { // a shorter one is part of too many words
			pairs = append(pairs, s, "(hidden)")
		}
	}
	return &scrubber{strings.NewReplacer(pairs...)}
}

// metricName matches what secretForms must leave: names of metrics are words in small letters.
var metricName = regexp.MustCompile(`^pleat_[a-z_]+$`)

// clean returns text without secrets.
func (s *scrubber) clean(text string) string {
	text = s.known.Replace(text)
	text = secretForms.ReplaceAllStringFunc(text, func(found string) string {
		if metricName.MatchString(found) {
			return found
		}
		return "(hidden)"
	})
	return userOfURL.ReplaceAllString(text, "://(hidden)@")
}
