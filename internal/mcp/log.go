package mcp

import (
	"context"
	"log/slog"
)

// sdkLog is the log of the SDK: what it tells at INFO, some lines for each session, is for who looks for a fault.
type sdkLog struct{ slog.Handler }

func (h sdkLog) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, belowInfo(level))
}

func (h sdkLog) Handle(ctx context.Context, r slog.Record) error {
	r.Level = belowInfo(r.Level)
	return h.Handler.Handle(ctx, r)
}

func (h sdkLog) WithAttrs(attrs []slog.Attr) slog.Handler { return sdkLog{h.Handler.WithAttrs(attrs)} }
func (h sdkLog) WithGroup(name string) slog.Handler       { return sdkLog{h.Handler.WithGroup(name)} }

func belowInfo(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}
