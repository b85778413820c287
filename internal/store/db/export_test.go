package db

// Statements is how many different texts of statements this process has run.
func (s *DB) Statements() (n int) {
	s.translated.Range(func(any, any) bool { n++; return true })
	return n
}
