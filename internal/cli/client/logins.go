package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"pleat/internal/identity"
)

// login is a sign-in at one server.
type login struct {
	Issuer  string          `json:"issuer"`
	Client  string          `json:"client"`
	Scopes  []string        `json:"scopes"`
	Subject string          `json:"subject"`
	Tokens  identity.Tokens `json:"tokens"`
	At      time.Time       `json:"at"` // of the tokens
}

// logins are the sign-ins of this user, by the address of the server.
type logins map[string]login

// loginsFile returns the path of the file that holds the user's sign-ins.
func loginsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for the sign-in: %w", err)
	}
	return filepath.Join(dir, "pleat", "logins.json"), nil
}

// readLogins reads the user's sign-ins. It refuses a file that others can read.
func readLogins() (logins, error) {
	path, err := loginsFile()
	if err != nil { // such as in a service without a home, where nobody signs in
		return logins{}, nil //nolint:nilerr // there are none
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return logins{}, nil
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users of this machine; run: chmod 600 %s", path, path)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the sign-in: %w", err)
	}
	all := logins{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; remove it and sign in again", path, err)
	}
	return all, nil
}

// lockPoll is how often a process looks whether another has ended its change of the sign-ins.
const lockPoll = 50 * time.Millisecond

// changeLogins changes the user's sign-ins while no other process does. The result of change is kept, unless it fails.
func changeLogins(ctx context.Context, change func(logins) error) error {
	path, err := loginsFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder for the sign-in: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the sign-in: %w", err)
	}
	defer lock.Close() // which unlocks it
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("lock the sign-in: %w", err)
		}
		select {
		case <-time.After(lockPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	all, err := readLogins()
	if err != nil {
		return err
	}
	if err := change(all); err != nil {
		return err
	}
	return writeLogins(path, all)
}

// writeLogins replaces the file of the sign-ins.
func writeLogins(path string, all logins) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	err = replaceFile(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the sign-in: %w", err)
	}
	return nil
}
