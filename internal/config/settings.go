package config

import (
	"fmt"
	"slices"
	"time"

	"pleat"
	"pleat/internal/store/db"
)

// Settings returns every setting, bound to the fields of c, in the order of the documentation. docs/configuration.md,
// the help of the commands and the environment variables are generated from it, so a new setting is one entry here, one
// field of Config, and its check.
func (c *Config) Settings() []Setting {
	return slices.Concat(
		inGroup(Store, c.storeSettings()),
		inGroup(Files, c.fileSettings()),
		inGroup(Server, c.serverSettings(), c.oidcSettings(), c.webhookSettings(), c.mailSettings()),
		inGroup(Node, c.workerSettings()),
		inGroup(Engine, c.engineSettings()),
		inGroup(Node, c.remoteSettings(), c.msaSettings(), c.nodeSettings()),
		inGroup(Worker, c.serverOfWorkerSettings()),
		inGroup(Log, c.logSettings()),
		inGroup(Fleet, c.fleetSettings()),
		inGroup(Client, c.clientSettings()),
		inGroup(Project, []Setting{setting("project", &c.Project,
			"id or name of the project in which to create and list; empty: that of the key, else your own")}),
	)
}

// inGroup joins sections of settings and puts them into a group.
func inGroup(g Group, sections ...[]Setting) []Setting {
	out := slices.Concat(sections...)
	for i := range out {
		out[i].Group = g
	}
	return out
}

// storeSettings are those of all commands that open the database.
func (c *Config) storeSettings() []Setting {
	return []Setting{
		setting("data", &c.Data,
			"folder for the database, the artifacts and the node's identity, "+
				"unless another setting places them elsewhere"),
		setting("database", &c.Database,
			"sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME; empty: SQLite in the data folder").
			secret(secretInURL),
		setting("database-direct", &c.Direct,
			"address of the same PostgreSQL database without a pooler between, where database is that of one that "+
				"pools transactions, such as PgBouncer: wake-ups and migrations use it; empty: there is no pooler").
			secret(secretInURL),
		setting("database-connections", &c.Connections,
			"connections to PostgreSQL that this process opens at most, "+
				fmt.Sprintf("%d or more; ", db.MinConnections)+
				"0: four for each core, at least 16, and five for claims and wake-ups").between(0, 10_000, ""),
	}
}

// fileSettings are those of the commands that open the artifact store.
func (c *Config) fileSettings() []Setting {
	return []Setting{
		setting("blobs", &c.Blobs,
			"where artifacts are stored: a folder, or s3://BUCKET/PREFIX?endpoint=URL with the credentials "+
				"in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; empty: the folder blobs in the data folder").
			secret(secretInURL),
	}
}

// serverSettings are those of the HTTP interface.
func (c *Config) serverSettings() []Setting {
	return []Setting{
		setting("addr", &c.Addr,
			"address to listen on; port 0 selects a free port, which is printed"),
		setting("public-url", &c.PublicURL,
			"base URL of links, without a path, as callers reach the server; empty: http:// and the address listened "+
				"on").
			secret(secretInURL),
		setting("hosts", &c.Hosts,
			"additional host names, separated by commas, for which the browser's session cookie is accepted; "+
				"the public URL's host and loopback addresses are always accepted"),
		setting("mcp-origins", &c.MCPOrigins,
			"origins, separated by commas, whose pages may call /mcp from a browser with a key of their user, such as "+
				"https://chat.example.org; empty: the service's own pages alone"),
		setting("quota", &c.Quota,
			"jobs that a user may create per UTC day, for users without a quota of their own").between(1, 0, ""),
		setting("workflow-quota", &c.WorkflowQuota,
			"workflows that a user may start per UTC day, those that folds start included").between(1, 0, ""),
		setting("batch-quota", &c.BatchQuota,
			"rows of batches that a user may create or run again per UTC day").between(1, 0, ""),
		setting("max-body", &c.MaxBody,
			"maximum size of the body of a job request").between(1<<10, 1<<30, ""),
		setting("library-quota", &c.Library,
			"total size of the files and metadata in one user's library and of the input of the user's drafts").
			between(1<<20, 1<<50, ""),
		setting("library-items", &c.LibraryItems,
			"items and files that one user's library may hold").between(1, 0, ""),
		setting("min-free-disk", &c.MinFreeDisk,
			"free space in the folders of data and artifacts below which the server refuses new jobs, workflows "+
				"and files, while running work continues; 0: no limit").between(0, 1<<50, ""),
		setting("results-quota", &c.ResultsQuota,
			"total size of the input and files of one user's jobs and workflows, above which new ones are refused; "+
				"0: no limit").between(0, 1<<50, ""),
		setting("keep-results", &c.KeepResults,
			"days after which a job or workflow whose latest run has ended is deleted with its files; 0: never").
			between(0, 36500, "days"),
		setting("draft-limit", &c.Drafts,
			"drafts of workflows that one user may have, cancelled ones included").between(1, 0, ""),
		setting("rate", &c.Rate,
			"requests per second and user, or address without a key; 0: unlimited"),
		setting("trusted-proxies", &c.Proxies,
			"addresses or networks of the proxies in front of the server, such as 10.1.0.0/16, separated by commas: "+
				"their X-Forwarded-For says where a request comes from; empty: its connection does"),
		setting("work", &c.Work,
			"whether the server runs jobs in its own process; false leaves them to pleat worker"),
	}
}

// oidcSettings are those of sign-in by OpenID Connect.
func (c *Config) oidcSettings() []Setting {
	return []Setting{
		setting("oidc-issuer", &c.OIDCIssuer,
			"address of the issuer of OpenID Connect by which people sign in, exactly as it names itself, such as "+
				"https://id.example.org/realms/lab; empty: they sign in with API keys only").secret(secretInURL),
		setting("oidc-client-id", &c.OIDCClientID,
			"identifier under which the issuer knows the server; it must allow the address "+
				"PUBLIC-URL/v1/login/callback").onlyWith("oidc-issuer"),
		setting("oidc-client-secret", &c.OIDCSecret,
			"secret of that client; empty: oidc-client-secret-file holds it, or the client is public").
			secret(secretNoFlag).onlyWith("oidc-issuer"),
		setting("oidc-client-secret-file", &c.OIDCSecretFile,
			"file that holds that secret, such as a credential of systemd or a mounted secret").
			onlyWith("oidc-issuer"),
		setting("oidc-device-client-id", &c.OIDCDeviceClient,
			"identifier of the public client by which pleat login signs in on a terminal (device flow); "+
				"empty: that of oidc-client-id").onlyWith("oidc-issuer"),
		setting("oidc-scopes", &c.OIDCScopes,
			"scopes to ask for, separated by commas; some issuers give a refresh token only for offline_access"),
		setting("oidc-audience", &c.OIDCAudience,
			"audience (aud) that access tokens must have which callers send as bearer tokens; "+
				"empty: that of oidc-client-id").onlyWith("oidc-issuer"),
		setting("oidc-name-claim", &c.OIDCNameClaim,
			"claim with the name to show of a person; where there is none, name, then the subject"),
		setting("oidc-groups-claim", &c.OIDCGroupsClaim,
			"claim with a person's groups, a list or one name; dots lead into objects, as in realm_access.roles"),
		setting("oidc-allowed-groups", &c.OIDCAllowedGroups,
			"groups whose members may sign in, separated by commas; in a file also a list, for names with commas; "+
				"empty: everybody whom the issuer knows").onlyWith("oidc-issuer"),
		setting("oidc-operator-group", &c.OIDCOperatorGroup,
			"group whose members operate the service, and may sign in; empty: none").onlyWith("oidc-issuer"),
		setting("oidc-ca", &c.OIDCCA,
			"PEM file of additional certificate authorities that are trusted to sign the issuer's certificate").
			onlyWith("oidc-issuer"),
		setting("oidc-title", &c.OIDCTitle,
			"name of the issuer on the page, as in «Sign in with NAME»; empty: its host").onlyWith("oidc-issuer"),
		setting("session-hours", &c.SessionHours,
			"hours after which a person who signed in on the page must do so again").between(1, 24*31, "hours"),
	}
}

// mailSettings are those of mails to users.
func (c *Config) mailSettings() []Setting {
	return []Setting{
		setting("mail-url", &c.MailURL,
			"address of the mail server that accepts notifications for users: smtp://HOST:587, where STARTTLS is "+
				"required, or smtps://HOST:465; USER@ or USER:PASSWORD@ before the host where it wants them; "+
				"empty: no mail is sent").secret(secretInURL),
		setting("mail-from", &c.MailFrom,
			"address from which mails come; a name may stand before it, the address then in angle brackets").
			onlyWith("mail-url"),
		setting("mail-password", &c.MailPassword,
			"password of the user that mail-url names; empty: mail-url or mail-password-file has it").
			secret(secretNoFlag).onlyWith("mail-url"),
		setting("mail-password-file", &c.MailPasswordFile,
			"file that holds that password, such as a credential of systemd or a mounted secret").onlyWith("mail-url"),
		setting("mail-ca", &c.MailCA,
			"PEM file of additional certificate authorities that are trusted to sign the mail server's certificate").
			onlyWith("mail-url"),
		setting("mail-plaintext", &c.MailPlain,
			"allow smtp:// without TLS to another machine, where everyone on the way reads the mails and the password"),
	}
}

// webhookSettings are those of events that come in and deliveries that go out.
func (c *Config) webhookSettings() []Setting {
	return []Setting{
		setting("ingest-secret", &c.Ingest,
			"shared secret of POST /v1/webhooks/events/ingest, at least 16 characters; "+
				"empty: the endpoint refuses every request").
			secret(secretNoFlag),
		setting("deliver", &c.Deliver,
			"whether the server delivers webhooks; of several servers that share a database at least one must"),
		setting("webhook-allow", &c.WebhookAllow,
			"private networks to which webhooks may be sent, over http and to any port, such as 10.1.0.0/16, "+
				"separated by commas; responses from these networks are not stored"),
		setting("webhook-ports", &c.WebhookPorts,
			"ports of public https addresses to which webhooks may be sent, separated by commas"),
		setting("webhook-timeout", &c.WebhookTimeout,
			"time limit of one delivery in seconds, from the DNS lookup to the end of the response").
			between(1, 120, ""),
		setting("webhook-rate", &c.WebhookRate,
			"deliveries per second to one endpoint; 0: unlimited"),
		setting("webhook-keep", &c.WebhookKeep,
			"days for which finished deliveries and their attempts are kept; 0: forever").between(0, 36500, ""),
		setting("webhook-proxy", &c.WebhookProxy,
			"http or https proxy for all deliveries; the proxy itself must refuse private addresses").
			secret(secretInURL),
		setting("webhook-ca", &c.WebhookCA,
			"PEM file of additional certificate authorities that are trusted to sign receivers' certificates"),
		setting("webhook-cert", &c.WebhookCert,
			"PEM file of the client certificate for receivers that require one"),
		setting("webhook-cert-key", &c.WebhookCertKey,
			"PEM file of the private key of that certificate"),
	}
}

// workerSettings are those of what a node executes.
func (c *Config) workerSettings() []Setting {
	return []Setting{
		setting("engines", &c.Engines,
			"engines of this process, separated by commas: mini folds, calvados simulates, "+
				"analyst answers questions, compare compares structures, null predicts nothing and is for tests of "+
				"the service; "+
				"any other name is that of a runner, see pleat engines. "+
				"The settings chat-url and nim-url add remote engines"),
		setting("slots", &c.Slots,
			"jobs of one kind (folds, questions, simulations) that this process runs at the same time").
			between(1, 1024, ""),
		setting("max-seconds", &c.MaxSeconds,
			"seconds that one run may compute; a simulation that is expected to take longer is refused").
			between(60, int64(pleat.MaxRunLimit/time.Second), "seconds"),
		setting("classes", &c.Classes,
			"YAML file of the classes of workers, see docs/operations.md; the server accepts jobs for their models "+
				"while none of their workers runs. Empty: the class default, with the engines of the server's own "+
				"configuration"),
		setting("class", &c.Class,
			"class of the worker in this process, whose engines it runs unless engines is set; empty: default"),
		setting("scratch", &c.Scratch,
			"folder on a disk of this machine for the identity of this process and its temporary files; "+
				"empty: the data folder, or for a worker in a job of Slurm or a pod of Kubernetes "+
				"a folder of the job's own below TMPDIR"),
		setting("checkpoint-every", &c.Checkpoint,
			"seconds between the checkpoints of a simulation, from which another worker can resume").
			between(1, 3600, "seconds"),
	}
}

// serverOfWorkerSettings are those of a worker that calls a server.
func (c *Config) serverOfWorkerSettings() []Setting {
	return []Setting{
		setting("server", &c.WorkerServer,
			"address of the server from which the worker gets its tasks, such as https://fold.example.org; it then "+
				"needs no database, no artifact store and no secret key; empty: it uses the database itself").
			secret(secretInURL),
		setting("token-file", &c.TokenFile,
			"file with the token of the worker's class, which pleat fleet token CLASS prints; {class} stands for the "+
				"setting class").onlyWith("server"),
		setting("server-ca", &c.ServerCA,
			"PEM file of additional certificate authorities that are trusted to sign the server's certificate").
			onlyWith("server"),
		setting("server-plaintext", &c.ServerPlain,
			"whether the worker may call a server on another machine over http, where everyone on the way can read "+
				"and change what it sends, its token included"),
	}
}

// engineSettings are those that the command engines needs too, to install and check runners.
func (c *Config) engineSettings() []Setting {
	return []Setting{
		setting("threads", &c.Threads,
			"cores used by one fold with mini, one simulation with calvados or one runner; 0: all").
			between(0, 1024, ""),
		setting("memory", &c.Memory,
			"total memory that the jobs of this process may be expected to use; "+
				"0: four fifths of the machine's memory"),
		setting("runners", &c.Runners,
			"folder of your own runners, which has one folder for each; they come before the embedded runners of "+
				"the same names; empty: the embedded runners, and those of other names in the folder runners of "+
				"the current folder, next to the program or in /usr/share/pleat"),
		setting("engine-data", &c.EngineData,
			"folder of the runners' virtual environments and caches, which pleat engines install creates, and of "+
				"the embedded runners; "+
				"empty: the folder engines in the data folder"),
		setting("weights", &c.Weights,
			"folder of the models' weights, which has one folder for each runner; "+
				"empty: the folder weights in the data folder"),
		setting("sandbox", &c.Sandbox,
			"limits of the processes of runners: auto gives them no network and only the files that they need, "+
				"as far as the system can; required refuses to start where it cannot; "+
				"none gives them everything that the user of the service has"),
		setting("devices", &c.Devices,
			"accelerators for runners: auto asks nvidia-smi, none uses the CPU; "+
				"otherwise a list of indices or UUIDs with their memory, such as 0=48GB,1=48GB"),
	}
}

// remoteSettings are those of services that a worker calls, except for MSA searches.
func (c *Config) remoteSettings() []Setting {
	return []Setting{
		setting("chat-url", &c.ChatURL,
			"address of an OpenAI-compatible chat endpoint that answers questions about structures, "+
				"such as http://127.0.0.1:11434/v1; it receives computed facts and the question, "+
				"never the structure's file; empty: none").secret(secretInURL),
		setting("chat-model", &c.ChatModel,
			"name of the chat endpoint's model").onlyWith("chat-url"),
		setting("chat-key", &c.ChatKey,
			"bearer token for the chat endpoint; empty: none").secret(secretNoFlag).onlyWith("chat-url"),
		setting("chat-tokens", &c.ChatTokens,
			"maximum number of tokens in one answer").between(16, 32768, ""),
		setting("chat-timeout", &c.ChatTimeout,
			"time limit of one answer in seconds").between(1, 3600, "seconds"),
		setting("nim-url", &c.NIMURL,
			"address of a Boltz-2 container's HTTP interface (NVIDIA NIM) that folds, "+
				"such as http://127.0.0.1:8000 or https://health.api.nvidia.com/v1; "+
				"sequences and ligands are sent there; empty: none").secret(secretInURL),
		setting("nim-model", &c.NIMModel,
			"model name by which jobs request this endpoint; "+
				"it must differ from boltz-2 where the runner boltz is enabled too"),
		setting("nim-key", &c.NIMKey,
			"bearer token for that endpoint; empty: none").secret(secretNoFlag).onlyWith("nim-url"),
		setting("nim-timeout", &c.NIMTimeout,
			"time limit of one fold there in seconds").between(1, 86400, "seconds"),
		setting("nim-status-url", &c.NIMStatus,
			"address to poll after the endpoint has answered 202 (accepted), "+
				"with {id} in place of the request's identifier; "+
				"empty: NVIDIA's own for addresses of nvidia.com, none for others").
			secret(secretInURL).onlyWith("nim-url"),
		setting("pdb-url", &c.PDBURL,
			"address from which workflows and templates fetch entries of the Protein Data Bank, "+
				"with {id} in place of the entry, "+
				"such as https://files.rcsb.org/download/{id}.cif; empty: such inputs are refused").secret(secretInURL),
		setting("uniprot-url", &c.UniProtURL,
			"address from which workflows fetch predicted structures by UniProt accession, "+
				"with {id} in place of the accession, "+
				"such as https://alphafold.ebi.ac.uk/files/AF-{id}-F1-model_v4.cif; "+
				"empty: such inputs are refused").secret(secretInURL),
	}
}

// msaSettings are those of MSA searches: where they run and what they search.
func (c *Config) msaSettings() []Setting {
	return []Setting{
		setting("msa-server", &c.MSAServer,
			"address of an MSA server with ColabFold's interface, such as https://api.colabfold.com, "+
				"with a user and password if it requires them; "+
				"every protein sequence of a job whose model uses alignments is sent there; "+
				"empty: no sequence is sent anywhere").secret(secretInURL),
		setting("msa-key", &c.MSAKey,
			"API key for that server, sent to no other; empty: none").secret(secretNoFlag).onlyWith("msa-server"),
		setting("msa-key-header", &c.MSAHeader,
			"header that carries the key: as a bearer token in Authorization, unchanged in any other"),
		setting("msa-command", &c.MSACommand,
			"path of colabfold_search or mmseqs, to search on this machine instead of a server; empty: neither"),
		setting("msa-database", &c.MSADatabase,
			"what msa-command searches: the folder of databases for colabfold_search, or the database for mmseqs").
			onlyWith("msa-command"),
		setting("msa-mode", &c.MSAMode,
			"env searches environmental sequences too, all does not; "+
				"env-nofilter and nofilter keep nearly identical rows"),
		setting("msa-pairing", &c.MSAPairing,
			"how rows of the chains of a complex are paired by organism: "+
				"greedy pairs the chains that an organism has, complete only organisms that have all chains, "+
				"none pairs nothing"),
		setting("msa-timeout", &c.MSATimeout,
			"time limit of one search in seconds, including the time in the server's queue").
			between(1, 86400, "seconds"),
		setting("msa-keep", &c.MSAKeep,
			"days for which alignments are kept for later jobs with the same sequences; 0: forever").
			between(0, 36500, "days"),
		setting("msa-share", &c.MSAShare,
			"whether users share kept alignments and searches under way; "+
				"a user can then tell from the time of a search that somebody here has folded a sequence before"),
	}
}

// nodeSettings are those of every node of a service, server or worker.
func (c *Config) nodeSettings() []Setting {
	return []Setting{
		setting("secret-key", &c.SecretKey,
			"master key from which signatures and the encryption of stored secrets derive: "+
				"32 bytes as 64 hexadecimal digits or in base64; while a key is replaced, two separated by a comma, "+
				"of which the first signs and encrypts; "+
				"empty: the file secret-key-file holds it. "+
				"Every node of a service needs the same").
			secret(secretNoFlag),
		setting("secret-key-file", &c.SecretFile,
			"file that holds the secret key in the same form, such as a credential of systemd or a mounted secret; "+
				"empty: secret.key in the data folder, which is generated once"),
		setting("traces-endpoint", &c.TracesEndpoint,
			"address of an OpenTelemetry receiver (OTLP over HTTP, port 4318 in most) that gets traces, "+
				"such as http://127.0.0.1:4318; the variables OTEL_… apply too; "+
				"empty: that of OTEL_EXPORTER_OTLP_ENDPOINT, and without one no traces are made").
			secret(secretInURL),
		setting("traces-ratio", &c.TracesRatio,
			"share of requests whose trace is kept, 0 to 1; if it is not set, OTEL_TRACES_SAMPLER decides"),
		setting("migrate", &c.Migrate,
			"whether the process creates or migrates the database when it starts; "+
				"false: it refuses to start with an older database, which pleat migrate brings up to date"),
	}
}

// logSettings are those of every process of a service.
func (c *Config) logSettings() []Setting {
	return []Setting{
		setting("metrics-listen", &c.MetricsListen,
			"further address to listen on, with /healthz, /readyz and /metrics, such as 127.0.0.1:9090; "+
				"/metrics there requires metrics-token if that is set, and nothing otherwise; with metrics-token, "+
				"pleat debug bundle reads the process there; empty: none"),
		setting("metrics-token", &c.Metrics,
			"bearer token of at least 16 characters that /metrics requires, on metrics-listen too; "+
				"empty: /metrics is open on metrics-listen and, where addr is a loopback address and trusted-proxies "+
				"is empty, on addr; else it refuses every request there").secret(secretNoFlag),
		setting("log-level", &c.LogLevel, "debug, info, warn or error"),
		setting("log-format", &c.LogFormat, "text or json"),
	}
}

// fleetSettings are those of the fleet, which starts workers on a cluster.
func (c *Config) fleetSettings() []Setting {
	return []Setting{
		setting("fleet-program", &c.FleetProgram,
			"absolute path of pleat on the machines where workers run; empty: this program's"),
		setting("fleet-config", &c.FleetConfig,
			"absolute path of the file of settings that workers read there, since they get none by environment; "+
				"empty: the file that this process reads"),
		setting("fleet-login", &c.FleetLogin,
			"command that runs its last argument on the login host of Slurm, such as ssh -o BatchMode=yes login1; "+
				"empty: Slurm's programs are on this machine"),
		setting("fleet-interval", &c.FleetInterval,
			"seconds between two comparisons of the workers that there are with those that are wanted").
			between(1, 3600, "seconds"),
		setting("fleet-limit", &c.FleetLimit,
			"workers of all classes together that the fleet has on clusters at most, those that have not started "+
				"included").between(1, 100_000, ""),
	}
}

// clientSettings are those of the commands that call a server or receive its webhooks.
func (c *Config) clientSettings() []Setting {
	return []Setting{
		setting("url", &c.URL, "address of the server to call").secret(secretInURL),
		setting("key", &c.Key, "API key").secret(secretFlag),
		setting("webhook-secret", &c.WebhookSecret,
			"signing secret (whsec_…) or verification key (whpk_…) "+
				"with which pleat webhooks listen verifies requests; during a rotation both, separated by a comma").
			secret(secretNoFlag),
		setting("webhook-token", &c.WebhookToken,
			"token that pleat webhooks listen requires in X-Webhook-Token; empty: any").secret(secretNoFlag),
	}
}
