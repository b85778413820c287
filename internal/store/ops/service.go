package ops

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"pleat/internal/store/db"
)

// Service is what all processes of a service must agree on besides the schema. The zero value is that of a database
// with which no node has started yet.
type Service struct {
	// Database is a random name of this database. The markers of artifact stores hold it.
	Database string
	// Artifacts is the artifact store whose files the rows of this database refer to; nil before the first node.
	Artifacts *ArtifactStore
	// Secrets are the fingerprints of the secret keys of the node that started last; empty before the first one.
	Secrets []string
}

// ArtifactStore names an artifact store: by its marker, and for people by the address at which it was adopted.
type ArtifactStore struct {
	Marker  string `json:"marker"`
	Address string `json:"address"` // without secrets
}

// The names of the rows of the table service.
const (
	serviceDatabase  = "database"
	serviceArtifacts = "artifacts"
	serviceSecrets   = "secrets"
)

// Service reads what the processes of the service agreed on. It is the zero value where the schema is older than that.
func (s *Store) Service(ctx context.Context) (Service, error) {
	var out Service
	there, err := s.db.HasTable(ctx, "service")
	if err != nil || !there {
		return out, db.Unavailable("read service", err)
	}
	rows, err := s.db.Read(ctx, "SELECT name, value FROM service")
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return err
		}
		switch name {
		case serviceDatabase:
			return db.DecodeJSON(value, &out.Database)
		case serviceArtifacts:
			return db.DecodeJSON(value, &out.Artifacts)
		case serviceSecrets:
			return db.DecodeJSON(value, &out.Secrets)
		}
		return nil
	})
	return out, db.Unavailable("read service", err)
}

// NameDatabase returns the name of this database, which the first call makes. Nodes that call it at once agree.
func (s *Store) NameDatabase(ctx context.Context) (string, error) {
	var name string
	err := s.db.Write(ctx, "name database", func(t *db.Tx) error {
		return agree(t, serviceDatabase, db.NewID(), &name)
	})
	return name, err
}

// AdoptArtifacts makes an artifact store that of this database if none is yet, and returns the one that is. If several
// nodes call it at once, the first one decides.
func (s *Store) AdoptArtifacts(ctx context.Context, a ArtifactStore) (ArtifactStore, error) {
	var adopted ArtifactStore
	err := s.db.Write(ctx, "adopt artifacts", func(t *db.Tx) error {
		return agree(t, serviceArtifacts, a, &adopted)
	})
	return adopted, err
}

// ReplaceArtifacts makes an artifact store that of this database, whichever was before.
func (s *Store) ReplaceArtifacts(ctx context.Context, a ArtifactStore) error {
	return s.db.Write(ctx, "replace artifacts", func(t *db.Tx) error { return setService(t, serviceArtifacts, a) })
}

// ErrOtherSecrets means that a node has none of the secret keys of the node that started last.
var ErrOtherSecrets = errors.New("the database was used with another secret key")

// AgreeOnSecrets records the fingerprints of a node's secret keys, of which one must be among those of the node that
// started last. Keys can so be replaced one node after the other. [ErrOtherSecrets]: none is, and nothing was changed.
func (s *Store) AgreeOnSecrets(ctx context.Context, fingerprints []string) error {
	other := false
	err := s.db.Write(ctx, "agree on secrets", func(t *db.Tx) error {
		var recorded []string
		if err := agree(t, serviceSecrets, fingerprints, &recorded); err != nil {
			return err
		}
		if other = !Overlap(recorded, fingerprints); other || slices.Equal(recorded, fingerprints) {
			return nil
		}
		return setService(t, serviceSecrets, fingerprints)
	})
	if err == nil && other {
		return ErrOtherSecrets
	}
	return err
}

// ReplaceSecrets records the fingerprints of a node's secret keys, whichever were recorded before.
func (s *Store) ReplaceSecrets(ctx context.Context, fingerprints []string) error {
	return s.db.Write(ctx, "replace secrets", func(t *db.Tx) error {
		return setService(t, serviceSecrets, fingerprints)
	})
}

// Overlap reports whether two lists of fingerprints have one in common.
func Overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(f string) bool { return slices.Contains(b, f) })
}

// agree stores a value unless there is one, locks the row and reads the value that is stored then.
func agree(t *db.Tx, name string, value, target any) error {
	if _, err := t.Exec("INSERT INTO service (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name,
		db.EncodeJSON(value)); err != nil {
		return err
	}
	var text string
	if err := t.Row("SELECT value FROM service WHERE name = $1 FOR UPDATE", []any{name}, &text); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), target)
}

// setService stores a value, whichever there is.
func setService(t *db.Tx, name string, value any) error {
	_, err := t.Exec("INSERT INTO service (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2",
		name, db.EncodeJSON(value))
	return err
}

// CountSealed returns how many endpoints have a sealed value for which fn is false.
func (s *Store) CountSealed(ctx context.Context, fn func(sealed string) bool) (int, error) {
	n := 0
	version, err := s.db.Version(ctx)
	if err != nil {
		return 0, err
	}
	address := "address"
	if version < 4 { // of a database that is still to be migrated
		address = "''"
	}
	rows, err := s.db.Read(ctx, "SELECT "+address+", token, secret, old_secret FROM endpoint")
	err = db.ForEachRow(rows, err, func(scan func(...any) error) error {
		values := [4]string{}
		if err := scan(&values[0], &values[1], &values[2], &values[3]); err != nil {
			return err
		}
		if slices.ContainsFunc(values[:], func(v string) bool { return v != "" && !fn(v) }) {
			n++
		}
		return nil
	})
	return n, db.Unavailable("read endpoints", err)
}

// BlobRef is a file that rows refer to.
type BlobRef struct {
	Key    string
	Bytes  int64  // -1: the rows do not say
	SHA256 string // empty: the rows do not say
}

// blobRefs reads a page of the files that rows refer to. Each part is read by its index and stops at the limit, so that
// a page of a large database costs what one of a small database does.
const blobRefs = `
	SELECT blob_key, max(bytes), max(sha256) FROM (
		SELECT * FROM (
			SELECT blob_key, max(bytes) AS bytes, max(sha256) AS sha256 FROM artifact
			WHERE blob_key > $1
			GROUP BY blob_key ORDER BY blob_key LIMIT $2
		) page_a
		UNION ALL
		SELECT * FROM (
			SELECT blob_key, max(bytes) AS bytes, max(sha256) AS sha256 FROM library_file
			WHERE blob_key > $1
			GROUP BY blob_key ORDER BY blob_key LIMIT $2
		) page_l
		UNION ALL
		SELECT * FROM (
			SELECT blob_key, max(bytes) AS bytes, max(sha256) AS sha256 FROM run_file
			WHERE blob_key > $1
			GROUP BY blob_key ORDER BY blob_key LIMIT $2
		) page_f
		UNION ALL
		SELECT * FROM (
			SELECT checkpoint AS blob_key, -1 AS bytes, '' AS sha256 FROM task
			WHERE checkpoint > $1 AND checkpoint <> ''
			GROUP BY checkpoint ORDER BY checkpoint LIMIT $2
		) page_c
	) page_all
	GROUP BY blob_key
	ORDER BY blob_key
	LIMIT $2`

// BlobRefs reads a page of the files that artifacts, library files, inputs of runs and checkpoints refer to: those
// whose keys are greater than after, in the order of the keys, at most limit. A file that several rows share is listed
// once.
func (s *Store) BlobRefs(ctx context.Context, after string, limit int) ([]BlobRef, error) {
	rows, err := s.db.Read(ctx, blobRefs, after, limit)
	out, err := db.ListOf(rows, err, func(scan func(...any) error) (r BlobRef, err error) {
		err = scan(&r.Key, &r.Bytes, &r.SHA256)
		return r, err
	})
	return out, db.Unavailable("read blobs", err)
}
