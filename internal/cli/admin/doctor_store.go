package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"time"

	"pleat/internal/app"
	"pleat/internal/blob"
	"pleat/internal/store"
	"pleat/internal/words"
)

// unreachable prints that the database cannot be opened, and what to do.
func (d *doctor) unreachable(err error) {
	remedy := "check that it runs, that PLEAT_DATABASE names its host, port, user and database, and that its " +
		"pg_hba.conf and the firewall admit this machine"
	if path, ok := d.cfg.SQLitePath(); ok {
		remedy = "if " + path + " is damaged, stop the server and restore a backup"
	}
	d.fail("database", "%v; %s", err, remedy)
}

// secrets compares the secret keys with those of the database. A node with others does not start.
func (d *doctor) secrets(ctx context.Context, s *store.Store) {
	known, err := s.Ops.Service(ctx)
	if err == nil {
		err = app.CheckSecrets(ctx, d.cfg, s)
	}
	switch {
	case err != nil:
		d.fail("secret key", "%v", err)
	case len(known.Secrets) == 0:
		d.note("secret key", "no server or worker has started with this database yet")
	default:
		d.ok("secret key", "is that of the database")
	}
}

// artifacts checks that the artifact store responds within 15 s, is that of the database and keeps a file, which it
// removes again. It creates no folder.
func (d *doctor) artifacts(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	address := words.Address(d.cfg.BlobAddress())
	// Without a database there is nothing to compare; database reports why there is none.
	s, err := app.OpenMigrated(ctx, d.cfg, nil)
	if err == nil {
		defer func() { _ = s.DB.Close() }()
	}
	if folder, missing := app.MissingArtifacts(d.cfg); missing {
		d.missingArtifacts(ctx, s, folder)
		return
	}
	b, err := blob.Open(ctx, d.cfg.BlobAddress())
	if err == nil {
		err = tryArtifacts(ctx, b)
	}
	if err != nil {
		d.fail("artifacts", "%s: %v; %s", address, err, d.artifactRemedy())
		return
	}
	if s != nil {
		if err := app.CheckArtifacts(ctx, d.cfg, s, b); err != nil {
			d.fail("artifacts", "%v", err)
			return
		}
	}
	d.ok("artifacts", "%s keeps files", address)
}

// missingArtifacts prints that the folder of the artifacts does not exist: before the first start it need not.
func (d *doctor) missingArtifacts(ctx context.Context, s *store.Store, folder string) {
	if s != nil {
		known, err := s.Ops.Service(ctx)
		if err != nil {
			d.fail("artifacts", "%v", err)
			return
		}
		if known.Artifacts != nil {
			d.fail("artifacts", "%s does not exist; the database expects the artifact store that it adopted at %s; "+
				"set blobs (PLEAT_BLOBS) to it", folder, known.Artifacts.Address)
			return
		}
	}
	d.note("artifacts", "%s does not exist yet; pleat serve creates it", folder)
}

// artifactRemedy says what to do if the artifact store cannot be used.
func (d *doctor) artifactRemedy() string {
	if strings.HasPrefix(d.cfg.BlobAddress(), "s3:") {
		return "check the bucket, endpoint and region in PLEAT_BLOBS, that this machine reaches the endpoint, and " +
			"that AWS_ACCESS_KEY_ID may list, read, write and delete objects there"
	}
	return "check that the folder is mounted, has room and belongs to the user that runs pleat"
}

// tryArtifacts writes a file, reads it back and removes it.
func tryArtifacts(ctx context.Context, b blob.Store) error {
	key, content := "doctor/"+rand.Text(), []byte(rand.Text())
	if _, err := b.Put(ctx, key, bytes.NewReader(content)); err != nil {
		return err
	}
	err := compareFile(ctx, b, key, content)
	return errors.Join(err, b.Delete(ctx, key))
}

// compareFile reads a file and compares it with what was written.
func compareFile(ctx context.Context, b blob.Store, key string, want []byte) error {
	f, _, err := b.Open(ctx, key)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := io.ReadAll(io.LimitReader(f, int64(len(want))+1))
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("a file that was written reads back with other content")
	}
	return err
}
