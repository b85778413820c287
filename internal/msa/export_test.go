package msa

import "time"

// Hurry makes a second of a server's pauses last as long as said.
func (s *Server) Hurry(second time.Duration) { s.pauseUnit = second }

// HangUp makes a second of a server's timeouts last as long as said.
func (s *Server) HangUp(second time.Duration) { s.timeoutUnit = second }

// Bound makes a server's archives hold so many bytes at the most.
func (s *Server) Bound(n int64) { s.most = n }
