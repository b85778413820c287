package msa

import "time"

// Hurry makes a server's second last as long as said.
func (s *Server) Hurry(second time.Duration) { s.unit = second }

// Bound makes a server's archives hold so many bytes at the most.
func (s *Server) Bound(n int64) { s.most = n }
