// Command images writes the container images of Pleat as OCI archives, without a daemon and without privileges.
//
//	images --pleat FILE --packages FOLDER --out FOLDER            the server, from nothing but the program
//	images --pleat FILE --packages FOLDER --out FOLDER --engine boltz   a worker with one engine
//
// The same program, packages and time give the same archive, byte for byte. scripts/images builds the program, fetches
// the packages and calls this.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// options is the command line.
type options struct {
	pleat    string // the program, which must be static
	packages string // folder of Debian packages
	out      string // folder of the archives
	engine   string // of a worker; empty: the server
	version  string
	revision string // commit
	created  int64  // seconds since 1970: the time of everything in the image
}

func main() {
	var o options
	flag.StringVar(&o.pleat, "pleat", "", "the program, built with CGO_ENABLED=0")
	flag.StringVar(&o.packages, "packages", "", "folder of Debian packages, as scripts/debian-packages prints it")
	flag.StringVar(&o.out, "out", ".", "folder of the archives")
	flag.StringVar(&o.engine, "engine", "", "engine of a worker; empty: the image of the server")
	flag.StringVar(&o.version, "version", "dev", "version of the program")
	flag.StringVar(&o.revision, "revision", "", "commit of the program")
	flag.Int64Var(&o.created, "created", 0, "time of the image, in seconds since 1970")
	flag.Parse()
	path, err := run(o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "images: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// run writes one archive and returns its path.
func run(o options) (string, error) {
	if o.pleat == "" || o.packages == "" || flag.NArg() > 0 {
		return "", errors.New("--pleat and --packages are needed, and no arguments")
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "images-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	b := builder{options: o, scratch: scratch, time: time.Unix(o.created, 0).UTC()}
	name := "server"
	var made recipe
	if o.engine == "" {
		made, err = b.server()
	} else {
		name = "worker-" + o.engine
		made, err = b.worker()
	}
	if err != nil {
		return "", err
	}
	made.name = "pleat-" + name + ":" + o.version
	path := filepath.Join(o.out, "pleat-"+name+".tar")
	return path, b.archive(made, path)
}

// builder makes one image.
type builder struct {
	options
	scratch string // folder of temporary files
	time    time.Time
}

// recipe is what an image is made of.
type recipe struct {
	name   string // with its tag
	title  string
	layers []*tree // from the bottom up
	env    []string
	cmd    []string
	ports  []string
	places []string // volumes
}

// server returns the image of the server: the program, the certificates of authorities and two users.
func (b *builder) server() (recipe, error) {
	base := newTree()
	base.skeleton()
	if err := base.certificates(b.packages); err != nil {
		return recipe{}, err
	}
	program, err := b.program()
	if err != nil {
		return recipe{}, err
	}
	return recipe{
		title:  "Pleat, a service that folds proteins: the server",
		layers: []*tree{base, program},
		env:    []string{"PATH=/usr/bin", "PLEAT_DATA=/data", "PLEAT_ADDR=0.0.0.0:8080"},
		cmd:    []string{"serve"},
		ports:  []string{"8080/tcp"},
		places: []string{"/data"},
	}, nil
}

// worker returns the image of a worker: Debian's Python, the environment of the engine, and the program with its
// runners unpacked, so that the root file system can be read-only.
func (b *builder) worker() (recipe, error) {
	base := newTree()
	base.skeleton()
	if err := base.packages(b.options.packages); err != nil {
		return recipe{}, err
	}
	if err := base.certificates(b.options.packages); err != nil {
		return recipe{}, err
	}
	program, err := b.program()
	if err != nil {
		return recipe{}, err
	}
	if err := b.unpackedRunners(program); err != nil {
		return recipe{}, err
	}
	environment, err := b.environment(base, program)
	if err != nil {
		return recipe{}, err
	}
	return recipe{
		title:  "Pleat, a service that folds proteins: a worker with the engine " + b.engine,
		layers: []*tree{base, environment, program},
		env: []string{
			"PATH=/usr/sbin:/usr/bin", "LANG=C.UTF-8", "PLEAT_DATA=/data", "PLEAT_ENGINES=" + b.engine,
			"PLEAT_ENGINE_DATA=" + engineData, "PLEAT_WEIGHTS=/weights",
			// The devices that NVIDIA's container runtime adds; others ignore it.
			"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
		},
		cmd:    []string{"worker"},
		places: []string{"/data", "/weights"},
	}, nil
}

// program returns the layer of the program. It is the last one, since it changes with every version.
func (b *builder) program() (*tree, error) {
	t := newTree()
	return t, t.addFile("usr/bin/pleat", b.pleat, 0o755)
}
