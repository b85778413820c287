// A module of its own, so that what makes releases is no dependency of the program.
module pleat/tools/dist

go 1.26

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/google/uuid v1.6.0
	github.com/package-url/packageurl-go v0.1.7
)
