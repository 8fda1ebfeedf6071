// An engine type for tests of mounts, leases and rollback: it makes objects outside, one for each
// secret, and takes them away again. It does what a cloud engine does, in the same order, and can be
// stopped between any two steps (outside.ts). The product does not know it.

import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { access } from "@holdfast/shared/endpoint/access";
import { type Endpoint, endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import {
  countedElsewhere,
  leftEverywhere,
  revokedEverywhere,
  uncounted,
} from "../../../engines/cloud/leases-elsewhere.ts";
import type { EngineNeeds, EngineType, LeaseFacts, SecretType } from "@holdfast/plugin-sdk/engine";
import type { Outside } from "./outside.ts";

/** A role: what its secrets are like. Durations in whole seconds; 0: as the mount says. */
export interface CountingRole {
  readonly ttl: number;
  readonly max_ttl: number;
  readonly renewable: boolean;
  /** Of a type that has no renewal at all. */
  readonly fixed: boolean;
}

export interface CountingOptions {
  /** Default "counting". */
  readonly type?: string;
  /** Default: the server's, 10 min. */
  readonly minUndoAge?: Nanos;
  /** Default: the server's, 60 s. */
  readonly jobDeadline?: Nanos;
  /** What disabling would leave behind, in words. Default nothing. */
  readonly abandoned?: () => string | null;
}

/** What a mount of this type has open. */
export interface CountingEngine {
  readonly needs: EngineNeeds;
  readonly outside: Outside;
}

const roles = jsonCodec<CountingRole>();
const endpoint = endpointsOf<CountingEngine>();
const name = wire.path("name").string("Name of the role.");

const role = out.object({
  ttl: out.integer("Seconds that a secret lives; 0: as the mount says."),
  max_ttl: out.integer("Seconds that it lives at most; 0: as the mount says."),
  renewable: out.boolean("Whether it can be renewed."),
  fixed: out.boolean("Whether it is of the type without renewal."),
});

const secret = out.object({
  object: out.string("Name of what was made outside."),
  password: out.secret("What opens it."),
});

const paths: readonly Endpoint<CountingEngine>[] = [
  endpoint({
    name: "countingRoleWrite",
    method: "POST",
    path: "/roles/:name+",
    summary: "Write a role.",
    access: access.capability,
    belongs: "mount",
    input: {
      name,
      ttl: wire.body("ttl").integer("Seconds.", { min: 0 }).default(0),
      maxTtl: wire.body("max_ttl").integer("Seconds.", { min: 0 }).default(0),
      renewable: wire.body("renewable").boolean("Whether secrets can be renewed.").default(true),
      fixed: wire.body("fixed").boolean("Whether there is no renewal at all.").default(false),
    },
    output: out.nothing,
    exists: async (engine, path) =>
      (await engine.needs.storage.get(`roles/${path["name"] ?? ""}`, roles)) !== null,
    handler: async (engine, { name: written, ttl, maxTtl, renewable, fixed }) => {
      const value = { ttl, max_ttl: maxTtl, renewable, fixed };
      await engine.needs.storage.write((tx) => tx.put(`roles/${written}`, value, roles));
      return undefined;
    },
  }),
  endpoint({
    name: "countingRoleRead",
    method: "GET",
    path: "/roles/:name+",
    summary: "Read a role.",
    access: access.capability,
    input: { name },
    output: role,
    handler: async (engine, input) => {
      const found = await engine.needs.storage.get(`roles/${input.name}`, roles);
      if (found === null) throw new Failure("not-found", "no-role", "no such role", { texts: [] });
      return found;
    },
  }),
  endpoint({
    name: "countingRoleList",
    method: "LIST",
    path: "/roles",
    summary: "List the roles.",
    access: access.capability,
    input: {},
    output: out.keys("Names of roles."),
    handler: async (engine) => ({
      keys: await engine.needs.storage.list("roles/", { limit: 1000 }),
    }),
  }),
  endpoint({
    name: "countingRoleDelete",
    method: "DELETE",
    path: "/roles/:name+",
    summary: "Delete a role.",
    access: access.capability,
    belongs: "mount",
    input: {
      name,
      revokeLeases: wire
        .query("revoke_leases")
        .boolean("Whether its leases go too.")
        .default(false),
      force: wire.query("force").boolean("Also where regions are silent.").default(false),
    },
    output: out.nothing,
    handler: async ({ needs: { leases, storage } }, { name: role, revokeLeases, force }) => {
      const places = [`creds/${role}`];
      await countedElsewhere(leases, places, { force });
      await storage.write((tx) => tx.delete(`roles/${role}`));
      const { count, silent } = await leftEverywhere(leases, places);
      const warnings = revokeLeases ? await revokedEverywhere(leases, places) : uncounted(silent);
      if (count > 0) warnings.push(`${count} leases live on`);
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "countingCredsRead",
    method: "GET",
    path: "/creds/:name+",
    summary: "Make an object outside, and give its secret.",
    access: access.capability,
    belongs: "local",
    runs: "active",
    issues: true,
    input: { name },
    output: secret,
    handler: (engine, input) => issue(engine, input.name),
  }),
  endpoint({
    name: "countingCredsWrite",
    method: "POST",
    path: "/creds/:name+",
    summary: "Make an object outside, and give its secret.",
    access: access.capability,
    belongs: "local",
    issues: true,
    input: { name },
    output: secret,
    handler: (engine, input) => issue(engine, input.name),
  }),
];

/** Note, make, offer the lease that settles the note: the order of every engine. */
async function issue({ needs, outside }: CountingEngine, roleName: string) {
  const { storage, writeAhead, random } = needs;
  const found = await storage.get(`roles/${roleName}`, roles);
  if (found === null) {
    throw new Failure("invalid", "no-role", `there is no role ${JSON.stringify(roleName)}`);
  }
  const object = `object-${random.uuid()}`;
  await outside.reach("issue", object);
  const record = await writeAhead.begin("object", { object });
  await outside.reach("recorded", object);
  outside.make(object);
  await outside.reach("made", object);
  const internal: JsonObject = { object, role: roleName };
  const data = { object, password: random.bytes(18).toString("base64url") };
  return reply(data, {
    lease: {
      secretType: found.fixed ? "fixed" : "object",
      internal,
      ttl: nanosOf(found.ttl),
      maxTtl: nanosOf(found.max_ttl),
      renewable: found.renewable,
      needsOneOf: [`roles/${roleName}`],
      settles: [record],
    },
  });
}

const object: SecretType<CountingEngine> = {
  renew: async ({ needs, outside }, lease) => {
    await outside.reach("renew", objectOf(lease.internal));
    const roleName = textIn(lease.internal, "role");
    const found = await needs.storage.get(`roles/${roleName}`, roles);
    if (found === null) {
      const text = `role ${JSON.stringify(roleName)} no longer exists; lease cannot be renewed`;
      throw new Failure("invalid", "role-gone", text);
    }
    const { ttl, max_ttl, renewable } = found;
    return { ttl: nanosOf(ttl), maxTtl: nanosOf(max_ttl), renewable };
  },
  revoke,
};

async function revoke(
  { outside }: CountingEngine,
  lease: LeaseFacts,
  signal: AbortSignal,
): Promise<void> {
  await outside.remove(objectOf(lease.internal), "revoke", signal);
}

/** To be handed to a server beside its own types. */
export function countingEngine(
  outside: Outside,
  options: CountingOptions = {},
): EngineType<CountingEngine> {
  const { type = "counting", minUndoAge, jobDeadline, abandoned = () => null } = options;
  return {
    type,
    kind: "secret",
    summary: "Makes objects outside and counts them.",
    version: "v1.0.0+test",
    paths: () => paths,
    checkOptions: (settings) => {
      const [unknown] = Object.keys(settings);
      if (unknown === undefined) return settings;
      throw new Failure("invalid", "unknown-option", `unknown option ${JSON.stringify(unknown)}`);
    },
    open: (needs) => ({ needs, outside }),
    secrets: { object, fixed: { renew: null, revoke } },
    undo: {
      object: (engine, record, signal) =>
        engine.outside.remove(objectOf(record.data), "undo", signal),
    },
    periodic: (engine, signal) => engine.outside.reach("periodic", "", signal),
    abandoned: async () => abandoned(),
    ...(minUndoAge === undefined ? {} : { minUndoAge }),
    ...(jobDeadline === undefined ? {} : { jobDeadline }),
  };
}

function objectOf(data: JsonObject): string {
  return textIn(data, "object");
}

function textIn(data: JsonObject, name: string): string {
  const text = data[name];
  return typeof text === "string" ? text : "";
}

function nanosOf(seconds: number): Nanos | null {
  return seconds === 0 ? null : BigInt(seconds) * SECOND;
}
