package admin

import (
	"runtime/debug"
	"testing"
)

func TestBuildIsDescribed(t *testing.T) {
	vcs := func(settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "not recorded"},
		{vcs("vcs.revision", "0123abc", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false"),
			"0123abc of 2026-01-02T03:04:05Z"},
		{vcs("vcs.revision", "0123abc", "vcs.modified", "true"), "0123abc, with uncommitted changes"},
	} {
		if got := buildOf(c.info).describeCommit(); got != c.want {
			t.Errorf("%q; want %q", got, c.want)
		}
	}
}
