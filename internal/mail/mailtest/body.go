package mailtest

import (
	"encoding/pem"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http/httptest"
	"net/mail"
)

// readBody decodes the text of a mail.
func readBody(m *mail.Message) (string, error) {
	if e := m.Header.Get("Content-Transfer-Encoding"); e != "quoted-printable" {
		return "", fmt.Errorf("the encoding is %q", e)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	return string(text), err
}

// certificate returns the certificate of a server in PEM.
func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}
