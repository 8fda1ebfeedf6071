// Every endpoint of the room: devices, hashing of a known value, the check of a trail, and the
// headers that are recorded. All of them are for operators of the whole server.

import { reply } from "@holdfast/shared/endpoint/reply";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import type { Field } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Audit, ListedDevice } from "./audit.ts";
import { canonicalOptions, type OptionTexts } from "./options.ts";

const endpoint = endpointsOf<Audit>();

const device = out.object({
  type: out.string("file, socket or syslog"),
  description: out.string("What it is for"),
  options: out.mapOf(out.string("Value"), "As given when it was enabled"),
  local: out.boolean("Not replicated to performance secondaries"),
  path: out.string("Its name, with a slash at the end"),
  declared: out.boolean("Comes from the configuration file and can be changed only there"),
  healthy: out.boolean("Took its last record on this node"),
});

const headerRule = out.object({ hmac: out.boolean("Recorded as a hash") });

const options = wire.body("options").object("Options of the type, by name").optional();
const optionsField: Field<OptionTexts> = {
  ...options,
  canonical: canonicalOptions,
  read: (value) => canonicalOptions(value ?? null),
};

export const auditApi = [
  endpoint({
    name: "listAuditDevices",
    method: "GET",
    path: "/sys/audit",
    summary: "List the audit devices",
    access: access.sudo,
    rootOnly: true,
    input: {},
    output: out.mapOf(device, "Devices by name"),
    handler(audit) {
      const devices = audit.list();
      const fields = Object.fromEntries(
        devices.map(({ path, type, description, options, local, declared, healthy }) => {
          const name = `${path}/`;
          return [name, { type, description, options, local, path: name, declared, healthy }];
        }),
      );
      return reply(fields, { warnings: devices.flatMap(rawWarning) });
    },
  }),

  endpoint({
    name: "enableAuditDevice",
    method: "POST",
    path: "/sys/audit/:path+",
    summary: "Enable an audit device",
    description:
      "The device must take a test record first. From then on a request is answered only if at " +
      "least one device has taken its records. Options of all types: hmac_accessor (true), log_raw " +
      "(false), elide_list_responses (false), format (json), prefix. Of file: file_path (or stdout), " +
      "mode (0600), rotate_bytes, rotate_interval, rotate_keep. Of socket: address, socket_type " +
      "(tcp, udp, unix), write_timeout (2s). Of syslog: facility (AUTH), tag (holdfast), address.",
    access: access.sudo,
    belongs: (_audit, { local }) => (local ? "local" : "shared"),
    rootOnly: true,
    input: {
      path: wire.path("path").string("Name of the device"),
      type: wire.body("type").string("file, socket or syslog"),
      description: wire.body("description").string("What it is for", { max: 512 }).default(""),
      options: optionsField,
      local: wire
        .body("local")
        .boolean("Keep it on this cluster: performance secondaries do not get it")
        .default(false),
      skipTest: wire
        .body("skip_test")
        .boolean("Enable it even if it does not take a record now")
        .default(false),
    },
    output: out.nothing,
    async handler(audit, input) {
      await audit.enable(input);
      const warnings = audit
        .list()
        .filter(({ path }) => path === input.path)
        .flatMap(rawWarning);
      return reply(undefined, { warnings });
    },
  }),

  endpoint({
    name: "disableAuditDevice",
    method: "DELETE",
    path: "/sys/audit/:path+",
    summary: "Disable an audit device",
    description: "What it has recorded stays. Its salt is gone: hashes can no longer be compared.",
    access: access.sudo,
    belongs: (audit, { path }) => {
      const local = audit.list().some((device) => device.path === path && device.local);
      return local ? "local" : "shared";
    },
    rootOnly: true,
    input: { path: wire.path("path").string("Name of the device") },
    output: out.nothing,
    async handler(audit, { path }) {
      await audit.disable(path);
      return undefined;
    },
  }),

  endpoint({
    name: "hashForAudit",
    method: "POST",
    path: "/sys/audit-hash/:path+",
    summary: "Hash a value as an audit device does",
    description: "To find a known value in the device's records. Ten hashes a second.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    runs: "anywhere",
    input: {
      path: wire.path("path").string("Name of the device"),
      input: wire.body("input").secret("The value"),
    },
    output: out.object({ hash: out.string("hmac-sha256: and the digest in hex") }),
    handler: (audit, { path, input }) => ({ hash: audit.hash(path, input.reveal()) }),
  }),

  endpoint({
    name: "verifyAuditTrail",
    method: "POST",
    path: "/sys/audit-verify/:path+",
    summary: "Check the files of an audit device for records that were cut, swapped or edited",
    description: "Reads the files that lie on this node, rotated ones included.",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    runs: "here",
    input: { path: wire.path("path").string("Name of the device") },
    output: out.object({
      valid: out.boolean("Every record is there, in order and unchanged"),
      records: out.integer("Good records, up to the problem"),
      first: out.nullable(out.integer("Number of the first record")),
      last: out.nullable(out.integer("Number of the last good record")),
      unchecked: out.integer(
        "Lines of another key or device, before these records or between them: only checkpoints vouch for them",
      ),
      torn: out.integer("Lines broken off by writes that failed; nothing is missing there"),
      files: out.list(out.string("Path"), "What was read, the oldest first"),
      problem: out.nullable(
        out.object({
          file: out.string("Path"),
          line: out.integer("Line, from 1"),
          reason: out.string("What is wrong there"),
        }),
      ),
    }),
    async handler(audit, { path }) {
      const { problem, file, head, records, first, foreign, torn, files } =
        await audit.verify(path);
      return {
        valid: problem === null,
        records,
        first,
        last: head?.number ?? null,
        unchecked: foreign,
        torn,
        files,
        problem: problem === null ? null : { file: file ?? "", ...problem },
      };
    },
  }),

  endpoint({
    name: "listAuditedHeaders",
    method: "GET",
    path: "/sys/config/auditing/request-headers",
    summary: "List the request headers that are recorded",
    access: access.sudo,
    rootOnly: true,
    input: {},
    output: out.object({ headers: out.mapOf(headerRule, "Headers by name") }),
    handler: (audit) => ({ headers: audit.headers.all() }),
  }),

  endpoint({
    name: "readAuditedHeader",
    method: "GET",
    path: "/sys/config/auditing/request-headers/:name",
    summary: "Tell how a request header is recorded",
    access: access.sudo,
    rootOnly: true,
    input: { name: wire.path("name", { folds: "case" }).string("Name of the header") },
    output: out.mapOf(headerRule, "The header"),
    handler(audit, { name }) {
      const rule = audit.headers.find(name);
      return { [rule.name]: { hmac: rule.hmac } };
    },
  }),

  endpoint({
    name: "recordHeader",
    method: "POST",
    path: "/sys/config/auditing/request-headers/:name",
    summary: "Record a request header",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: {
      name: wire.path("name", { folds: "case" }).string("Name of the header"),
      hmac: wire.body("hmac").boolean("As a hash; false shows its value").default(true),
    },
    output: out.nothing,
    async handler(audit, { name, hmac }) {
      await audit.headers.set(name, hmac);
      return undefined;
    },
  }),

  endpoint({
    name: "stopRecordingHeader",
    method: "DELETE",
    path: "/sys/config/auditing/request-headers/:name",
    summary: "Stop recording a request header",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: { name: wire.path("name", { folds: "case" }).string("Name of the header") },
    output: out.nothing,
    async handler(audit, { name }) {
      await audit.headers.remove(name);
      return undefined;
    },
  }),
];

function rawWarning({ path, raw }: ListedDevice): string[] {
  return raw ? [`the audit device ${path}/ records values in clear (log_raw)`] : [];
}
