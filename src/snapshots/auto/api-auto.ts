// The endpoints of automated snapshots.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { DAY, SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { DRILL_RESULTS } from "../drills/drill-state.ts";
import { STORAGE_TYPES } from "../targets/settings.ts";
import type { AutoSnapshots, SnapshotStatus } from "./auto-snapshots.ts";
import { readable } from "./config.ts";
import { MAX_HISTORY } from "./state.ts";

const endpoint = endpointsOf<AutoSnapshots>();

const BASE = "/sys/storage/raft/snapshot-auto";
const MAX_TEXT = 2048;
const MAX_SECRET = 16 * 1024;

const name = wire.path("name").string("Name of the configuration");

const text = (field: string, help: string) =>
  wire.param(field).string(help, { max: MAX_TEXT }).optional();
const flag = (field: string, help: string) => wire.param(field).boolean(help).optional();
const secret = (field: string, help: string) =>
  wire.param(field).secret(help, { max: MAX_SECRET }).optional();

const fields = {
  interval: wire
    .param("interval")
    .seconds("Time from the start of one snapshot to the start of the next; required at first", {
      min: 10n * SECOND,
      max: 3660n * DAY,
    })
    .optional(),
  retain: wire
    .param("retain")
    .integer(
      "Snapshots of this configuration that are kept: 1 unless said; older ones are deleted after a new one",
      {
        min: 1,
        max: 100_000,
      },
    )
    .optional(),
  path_prefix: text(
    "path_prefix",
    "For local the directory, below one of snapshot_roots; else the folder in the bucket, which for cloudb-blob and " +
      "cloudc-store ends with a slash; required at first",
  ),
  file_prefix: text("file_prefix", "What names begin with: service-snapshot unless said"),
  storage_type: wire
    .param("storage_type")
    .oneOf(STORAGE_TYPES, "Where snapshots go; required at first and the same ever after")
    .optional(),
  drill: wire
    .param("drill")
    .stringOrCount(
      "When the newest stored snapshot is read back and proven to restore: after each n-th snapshot (a count such as " +
        "4), every so often (a time with its unit such as 7d, as it is unless said), or off",
      { max: 32 },
    )
    .optional(),
  local_max_space: wire
    .param("local_max_space")
    .integer(
      "local: bytes that all snapshots of this prefix may have there, whoever wrote them; required",
      { min: 1 },
    )
    .optional(),
  clouda_store_bucket: text("clouda_store_bucket", "clouda-store: the bucket; required"),
  clouda_store_region: text("clouda_store_region", "clouda-store: the bucket's region; required"),
  clouda_access_key_id: text(
    "clouda_access_key_id",
    "clouda-store: access key; left out, keys come from the server's environment or files",
  ),
  clouda_secret_access_key: secret("clouda_secret_access_key", "clouda-store: its secret"),
  clouda_session_token: secret("clouda_session_token", "clouda-store: its session token"),
  clouda_store_endpoint: text(
    "clouda_store_endpoint",
    "clouda-store: another endpoint, for stores of others",
  ),
  clouda_store_disable_tls: flag("clouda_store_disable_tls", "clouda-store: speak http; for tests"),
  clouda_store_force_path_style: flag(
    "clouda_store_force_path_style",
    "clouda-store: endpoint/bucket instead of bucket.endpoint",
  ),
  clouda_store_enable_kms: flag("clouda_store_enable_kms", "clouda-store: encrypt with KMS"),
  clouda_store_server_side_encryption: flag(
    "clouda_store_server_side_encryption",
    "clouda-store: encrypt with AES256",
  ),
  clouda_store_kms_key: text("clouda_store_kms_key", "clouda-store: name of the KMS key"),
  cloudb_container_name: text("cloudb_container_name", "cloudb-blob: the container; required"),
  cloudb_account_name: text(
    "cloudb_account_name",
    "cloudb-blob: account; left out, it comes from the server's environment or files",
  ),
  cloudb_account_key: secret("cloudb_account_key", "cloudb-blob: its key"),
  cloudb_blob_environment: text(
    "cloudb_blob_environment",
    "cloudb-blob: CloudBPublicCloud unless said, CloudBUSGovernmentCloud or CloudBChinaCloud",
  ),
  cloudb_endpoint: text(
    "cloudb_endpoint",
    "cloudb-blob: another endpoint, for stores of others; http for this machine alone",
  ),
  cloudc_store_bucket: text("cloudc_store_bucket", "cloudc-store: the bucket; required"),
  cloudc_service_account_key: secret(
    "cloudc_service_account_key",
    "cloudc-store: JSON of the service account; left out, it comes from the server's environment or files",
  ),
  cloudc_endpoint: text("cloudc_endpoint", "cloudc-store: another endpoint, for stores of others"),
  cloudc_disable_tls: flag("cloudc_disable_tls", "cloudc-store: speak http; for tests"),
};

const own = {
  text: (help: string) => out.optional(out.string(help)),
  flag: (help: string) => out.optional(out.boolean(help)),
  secret: (help: string) => out.optional(out.boolean(`Whether ${help} is set; it is never told`)),
};

const configuration = out.object({
  interval: out.integer("Seconds from start to start"),
  retain: out.integer("Snapshots that are kept"),
  path_prefix: out.string("Directory, or folder in the bucket"),
  file_prefix: out.string("What names begin with"),
  storage_type: out.oneOf(
    STORAGE_TYPES,
    "Where snapshots go; the fields below are those of its type",
  ),
  drill: out.string("When stored snapshots are proven: off, a count of snapshots, or a time"),
  local_max_space: out.optional(out.integer("Bytes that all of them may have there")),
  clouda_store_bucket: own.text("Bucket"),
  clouda_store_region: own.text("Region"),
  clouda_access_key_id: own.text("Access key"),
  clouda_secret_access_key_set: own.secret("its secret"),
  clouda_session_token_set: own.secret("a session token"),
  clouda_store_endpoint: own.text("Endpoint"),
  clouda_store_disable_tls: own.flag("Whether http is spoken"),
  clouda_store_force_path_style: own.flag("Whether the bucket is part of the path"),
  clouda_store_enable_kms: own.flag("Whether KMS encrypts"),
  clouda_store_server_side_encryption: own.flag("Whether AES256 encrypts"),
  clouda_store_kms_key: own.text("KMS key"),
  cloudb_container_name: own.text("Container"),
  cloudb_account_name: own.text("Account"),
  cloudb_account_key_set: own.secret("its key"),
  cloudb_blob_environment: own.text("Cloud"),
  cloudb_endpoint: own.text("Endpoint"),
  cloudc_store_bucket: own.text("Bucket"),
  cloudc_service_account_key_set: own.secret("a service account"),
  cloudc_endpoint: own.text("Endpoint"),
  cloudc_disable_tls: own.flag("Whether http is spoken"),
});

const status = out.object({
  state: out.oneOf(
    ["waiting", "running", "uploading", "rotating", "disabled"],
    "What is done; disabled: this node makes no snapshots",
  ),
  waiting_for: out.string("What it waits for though it is due; empty when for nothing"),
  snapshot_start: out.nullable(out.time("Start of the attempt that runs, or of the last one")),
  snapshot_url: out.string("Where it writes"),
  last_snapshot_start: out.nullable(out.time("Start of the last attempt that has ended")),
  last_snapshot_end: out.nullable(out.time("End of it")),
  last_snapshot_error: out.string("What kept it from success; empty when nothing did"),
  last_snapshot_url: out.string("Where the last one that succeeded lies"),
  last_snapshot_size: out.integer("Its bytes"),
  last_snapshot_sha256: out.string("Its SHA-256 in hex"),
  last_snapshot_index: out.integer("Index of the last write in it"),
  last_success: out.nullable(out.time("When it was there")),
  next_snapshot_start: out.time("When the next attempt starts"),
  consecutive_errors: out.integer("Attempts that failed since one succeeded"),
  rotation_error: out.string("Why older ones could not be deleted; empty when they were"),
  stored_count: out.integer(
    "Snapshots of this configuration there, as of the last one or the last drill",
  ),
  stored_bytes: out.integer("Bytes of all of them"),
  last_proven: out.nullable(
    out.time("When one of them was last proven to restore; drills/ beside it tells more"),
  ),
  last_drill_result: out.nullable(
    out.oneOf(DRILL_RESULTS, "How the last drill ended; null before the first"),
  ),
});

export const autoApi = [
  endpoint({
    name: "listSnapshotConfigs",
    method: "LIST",
    path: `${BASE}/config`,
    summary: "List configurations of automated snapshots",
    access: access.sudo,
    rootOnly: true,
    input: {},
    output: out.keys("Names of the configurations"),
    handler: (auto) => ({ keys: auto.names() }),
  }),

  endpoint({
    name: "readSnapshotConfig",
    method: "GET",
    path: `${BASE}/config/:name`,
    summary: "Read a configuration of automated snapshots",
    description: "Keys and tokens are never told, only whether they are set.",
    access: access.sudo,
    rootOnly: true,
    input: { name },
    output: configuration,
    handler: (auto, input) => readable(auto.read(input.name)),
  }),

  endpoint({
    name: "writeSnapshotConfig",
    method: "POST",
    path: `${BASE}/config/:name`,
    summary: "Create or change a configuration of automated snapshots",
    description:
      "Fields that are left out keep their value, but secrets that would go to another host must be given again. The first snapshot is made one interval later. A small object is " +
      "written where snapshots are to go, and removed, before a new place is accepted.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    exists: (auto, path) => auto.has(path["name"] ?? ""),
    input: {
      name,
      ...fields,
      verify: wire
        .param("verify")
        .boolean("Whether a test object is written first: where the place is new unless said")
        .optional(),
    },
    output: out.nothing,
    async handler(auto, { name: called, verify, ...input }, context) {
      const warnings = await auto.write(called, {
        input,
        verify,
        signal: context.signal,
        accessor: context.caller?.accessor ?? "",
        confirmExists: (exists) => context.confirmExists(exists),
        noteHost: (host) => context.note({ target_host: host }),
      });
      return reply(undefined, { warnings });
    },
  }),

  endpoint({
    name: "deleteSnapshotConfig",
    method: "DELETE",
    path: `${BASE}/config/:name`,
    summary: "Delete a configuration of automated snapshots",
    description: "Snapshots that are there stay.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    input: { name },
    output: out.nothing,
    async handler(auto, input, context) {
      await auto.remove(input.name, context.signal);
      return undefined;
    },
  }),

  endpoint({
    name: "readSnapshotStatus",
    method: "GET",
    path: `${BASE}/status/:name`,
    summary: "Read how automated snapshots go",
    access: access.capability,
    rootOnly: true,
    input: { name },
    output: status,
    handler: (auto, input) => statusOf(auto.status(input.name)),
  }),

  endpoint({
    name: "runSnapshot",
    method: "POST",
    path: `${BASE}/run/:name`,
    summary: "Make an automated snapshot now",
    description:
      "Answers when it is there; after a minute with 202, and it goes on. One that is under way is waited for. The " +
      "next one is made an interval later.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    later: true,
    input: { name },
    output: status,
    async handler(auto, input, context) {
      const ended = await auto.run(input.name, context.signal, (host) =>
        context.note({ target_host: host }),
      );
      const data = statusOf(auto.status(input.name));
      return ended ? data : reply(data, { status: 202 });
    },
  }),

  endpoint({
    name: "readSnapshotHistory",
    method: "GET",
    path: `${BASE}/history/:name`,
    summary: "Read the last attempts at automated snapshots",
    access: access.capability,
    rootOnly: true,
    input: { name },
    output: out.object({
      attempts: out.list(
        out.object({
          start: out.time("Start"),
          end: out.time("End"),
          url: out.string("Where it was written"),
          size: out.integer("Bytes; 0 when it failed"),
          sha256: out.string("SHA-256 in hex; empty when it failed"),
          index: out.integer("Index of the last write in it; 0 when it failed"),
          error: out.string("What kept it from success; empty when nothing did"),
          rotation_error: out.string("Why older ones could not be deleted"),
        }),
        `Newest first, at most ${MAX_HISTORY}`,
      ),
    }),
    handler: (auto, input) => ({
      attempts: auto.history(input.name).map(({ start, end, rotationError, ...rest }) => ({
        start: showTime(BigInt(start)),
        end: showTime(BigInt(end)),
        ...rest,
        rotation_error: rotationError,
      })),
    }),
  }),
];

function statusOf(state: SnapshotStatus) {
  const time = (at: string | null) => (at === null ? null : showTime(BigInt(at)));
  return {
    state: state.state,
    waiting_for: state.waitingFor,
    snapshot_start: time(state.start),
    snapshot_url: state.url,
    last_snapshot_start: time(state.lastStart),
    last_snapshot_end: time(state.lastEnd),
    last_snapshot_error: state.lastError,
    last_snapshot_url: state.lastUrl,
    last_snapshot_size: state.lastSize,
    last_snapshot_sha256: state.lastSha256,
    last_snapshot_index: state.lastIndex,
    last_success: time(state.lastSuccess),
    next_snapshot_start: showTime(BigInt(state.next)),
    consecutive_errors: state.consecutiveErrors,
    rotation_error: state.rotationError,
    stored_count: state.storedCount,
    stored_bytes: state.storedBytes,
    last_proven: time(state.lastProven),
    last_drill_result: state.lastDrill,
  };
}
