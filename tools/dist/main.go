// Command dist writes what a release consists of besides the wheels: an archive for each platform, the licences of
// everything in the program, and a list of it (SBOM).
//
//	dist --programs FOLDER --licences FILE --out FOLDER --version 1.2.3 --created SECONDS linux/amd64 linux/arm64
//
// The same programs and time give the same files, byte for byte. scripts/dist builds the programs, which are named
// pleat_linux_amd64 and so on, calls this, and makes the wheels.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// options is the command line.
type options struct {
	root      string // folder of the sources
	programs  string // folder of the programs
	out       string // folder of the archives and of the SBOM
	licences  string // file of the licences
	version   string
	created   int64 // seconds since 1970: the time of everything
	platforms []platform
	tools     []tool
}

// tool is a program on whose version the bytes depend.
type tool struct{ name, version string }

// platform is a system and its kind of processor, as Go names them.
type platform struct{ os, arch string }

// String is how names of files have it.
func (p platform) String() string { return p.os + "_" + p.arch }

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "folder of the sources")
	flag.StringVar(&o.programs, "programs", "", "folder of the programs, such as pleat_linux_amd64")
	flag.StringVar(&o.out, "out", ".", "folder of the archives and of the SBOM")
	flag.StringVar(&o.licences, "licences", "", "file to write the licences into")
	flag.StringVar(&o.version, "version", "dev", "version of the program")
	flag.Int64Var(&o.created, "created", 0, "time of the files, in seconds since 1970")
	flag.Func("tool", "program on whose version the bytes depend, such as node=v20.20.2", func(s string) error {
		name, version, ok := strings.Cut(s, "=")
		if !ok || version == "" {
			return errors.New("want NAME=VERSION")
		}
		o.tools = append(o.tools, tool{name, version})
		return nil
	})
	flag.Parse()
	err := o.parse(flag.Args())
	if err == nil {
		err = run(o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		os.Exit(1)
	}
}

// parse reads the platforms, such as linux/amd64.
func (o *options) parse(names []string) error {
	for _, name := range names {
		system, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("the platform is %q; want one such as linux/amd64", name)
		}
		o.platforms = append(o.platforms, platform{system, arch})
	}
	if o.programs == "" || o.licences == "" || len(o.platforms) == 0 {
		return errors.New("--programs, --licences and a platform are needed")
	}
	return nil
}

// run writes all files.
func run(o options) error {
	for _, p := range o.platforms {
		if err := runsAnywhere(o.program(p), p.os); err != nil {
			return err
		}
	}
	mods, err := readModules(o.root, o.platforms)
	if err != nil {
		return err
	}
	packages, err := readPage(o.root)
	if err != nil {
		return err
	}
	if err := writeLicences(o.root, o.licences, mods); err != nil {
		return err
	}
	for _, p := range o.platforms {
		if err := o.archive(p); err != nil {
			return err
		}
	}
	return o.sbom(mods, packages)
}

func (o options) program(p platform) string { return filepath.Join(o.programs, "pleat_"+p.String()) }

func (o options) time() time.Time { return time.Unix(o.created, 0).UTC() }
