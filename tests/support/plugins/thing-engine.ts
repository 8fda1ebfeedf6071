// An engine for tests that do the same with it built in and as a process: what it makes outside are files of a folder, which both
// see.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jsonCodec } from "@holdfast/shared/codec";
import { Failure } from "@holdfast/shared/failure";
import { access } from "@holdfast/shared/endpoint/access";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { JsonObject } from "@holdfast/shared/json/json";
import { HOUR, SECOND } from "@holdfast/shared/text/duration";
import {
  engineEndpoints,
  type EngineNeeds,
  type EngineType,
  type LeaseFacts,
} from "@holdfast/plugin-sdk/engine";
import { PermanentFailure } from "@holdfast/plugin-sdk/failure";

interface Role {
  readonly ttl: number;
  readonly max: number;
}

interface Things {
  readonly needs: EngineNeeds;
  readonly folder: string;
}

const roles = jsonCodec<Role>();
const counts = jsonCodec<number>();
const endpoint = engineEndpoints<Things>();
const name = wire.path("name").string("Name of the role.");

function make({ folder }: Things, thing: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, thing), "");
}

function remove({ folder }: Things, thing: unknown): void {
  if (existsSync(join(folder, "stuck"))) throw new PermanentFailure("the outside is stuck");
  rmSync(join(folder, String(thing)), { force: true });
}

const noRole = () => new Failure("invalid", "no-thing-role", "there is no such role");

export const thingEngine: EngineType<Things> = {
  type: "things",
  kind: "secret",
  summary: "Makes files.",
  version: "v1.4.0",
  checkOptions: (options) => {
    const { folder, ...rest } = options;
    const [other] = Object.keys(rest);
    if (other !== undefined) {
      throw new Failure("invalid", "thing-options", "the options must be folder alone");
    }
    return { folder: folder ?? "" };
  },
  canChangeOptions: () => null,
  minUndoAge: 60n * SECOND,
  metrics: {
    things_made_total: {
      kind: "counter",
      help: "Things that were made.",
      labels: { how: ["lease", "crash"] },
    },
  },
  open: (needs) => ({ needs, folder: needs.options["folder"] ?? "" }),
  secrets: {
    thing: {
      renew: async ({ needs }, lease, increment) => {
        const role = await needs.storage.get(`roles/${roleOf(lease.internal)}`, roles);
        if (role === null) throw noRole();
        return {
          ttl: increment ?? BigInt(role.ttl) * SECOND,
          maxTtl: BigInt(role.max) * SECOND,
          internal: { ...lease.internal, renewed: true },
        };
      },
      revoke: async (things, lease: LeaseFacts) => {
        remove(things, lease.internal["thing"]);
        return { requestIds: ["11111111-2222-4333-8444-555555555555"] };
      },
      receipt: ({ internal }) => ({ role: roleOf(internal), objects: ["a thing"] }),
    },
    fixed: {
      renew: null,
      revoke: async (things, lease) => remove(things, lease.internal["thing"]),
    },
  },
  undo: { thing: async (things, record) => remove(things, record.data["thing"]) },
  periodic: async ({ needs }) => {
    await needs.storage.write((tx) => tx.put("ticks", (tx.get("ticks", counts) ?? 0) + 1, counts));
  },
  abandoned: async ({ folder }) =>
    existsSync(join(folder, "kept")) ? "a thing that was kept" : null,
  paths: () => [
    endpoint({
      name: "thingRoleWrite",
      method: "POST",
      path: "/roles/:name",
      summary: "Write a role.",
      access: access.capability,
      belongs: "mount",
      input: {
        name,
        ttl: wire
          .body("ttl")
          .duration("How long.", { min: SECOND, max: 24n * HOUR })
          .default(HOUR),
        max: wire
          .body("max")
          .duration("How long at most.")
          .default(2n * HOUR),
        password: wire.body("password").secret("Known to nobody.").optional(),
        tags: wire.body("tags").list("Words.", { max: 3 }).default([]),
      },
      output: out.nothing,
      exists: async ({ needs }, path) =>
        (await needs.storage.get(`roles/${path["name"] ?? ""}`, roles)) !== null,
      handler: async ({ needs }, { name: role, ttl, max }, request) => {
        await needs.storage.write((tx) => {
          request.confirmExists(tx.get(`roles/${role}`, roles) !== null);
          const kept = { ttl: Number(ttl / SECOND), max: Number(max / SECOND) };
          tx.put(`roles/${role}`, kept, roles);
        });
        return undefined;
      },
    }),
    endpoint({
      name: "thingRoleRead",
      method: "GET",
      path: "/roles/:name",
      summary: "Read a role.",
      access: access.capability,
      input: { name },
      output: out.object({ ttl: out.integer("Seconds."), max: out.integer("Seconds.") }),
      handler: async ({ needs }, input) => {
        const role = await needs.storage.get(`roles/${input.name}`, roles);
        if (role === null) throw new Failure("not-found", "no-role", "no such role", { texts: [] });
        return role;
      },
    }),
    endpoint({
      name: "thingRoleList",
      method: "LIST",
      path: "/roles",
      summary: "List roles.",
      access: access.capability,
      input: {},
      output: out.keys("Names."),
      handler: async ({ needs }) => ({ keys: await needs.storage.list("roles/", { limit: 100 }) }),
    }),
    endpoint({
      name: "thingRoleDelete",
      method: "DELETE",
      path: "/roles/:name",
      summary: "Delete a role.",
      access: access.sudo,
      belongs: "mount",
      input: { name },
      output: out.nothing,
      handler: async ({ needs }, input) => {
        await needs.storage.write((tx) => tx.delete(`roles/${input.name}`));
        const left = await needs.leases.count(`creds/${input.name}`);
        return left === 0 ? undefined : reply(undefined, { warnings: [`${left} leases live on`] });
      },
    }),
    endpoint({
      name: "thingCreds",
      method: "GET",
      path: "/creds/:name",
      summary: "Make a thing.",
      access: access.capability,
      belongs: "local",
      issues: true,
      input: {
        name,
        fixed: wire.query("fixed").boolean("Not renewable.").default(false),
        pad: wire.query("pad").integer("Characters besides.", { min: 0 }).default(0),
      },
      output: out.object({
        thing: out.secret("Its name."),
        constructor: out.optional(out.string("Who has made it.")),
        pad: out.optional(out.string("Nothing.")),
      }),
      handler: async (things, { name: role, fixed, pad }) => {
        const { storage, writeAhead, random, metrics } = things.needs;
        const found = await storage.get(`roles/${role}`, roles);
        if (found === null) throw noRole();
        const thing = `thing-${random.uuid()}`;
        const record = await writeAhead.begin("thing", { thing });
        make(things, thing);
        metrics.count("things_made_total", { how: "lease" });
        return reply(
          { thing, constructor: "somebody", ...(pad === 0 ? {} : { pad: "x".repeat(pad) }) },
          {
            lease: {
              secretType: fixed ? "fixed" : "thing",
              internal: { thing, role, constructor: "somebody" },
              ttl: BigInt(found.ttl) * SECOND,
              maxTtl: BigInt(found.max) * SECOND,
              renewable: !fixed,
              needsOneOf: [`roles/${role}`],
              settles: [record],
            },
          },
        );
      },
    }),
    endpoint({
      name: "thingCrash",
      method: "POST",
      path: "/crash",
      summary: "Make a thing, and fail.",
      access: access.capability,
      belongs: "local",
      input: {},
      output: out.nothing,
      handler: async (things) => {
        const thing = `thing-${things.needs.random.uuid()}`;
        await things.needs.writeAhead.begin("thing", { thing });
        make(things, thing);
        things.needs.metrics.count("things_made_total", { how: "crash" });
        throw new Error(`a secret in an error: ${thing}`);
      },
    }),
    endpoint({
      name: "thingFacts",
      method: "GET",
      path: "/facts",
      summary: "What the mount says of itself, and the server of the request.",
      access: access.capability,
      input: {},
      output: out.anyObject("Facts."),
      handler: async ({ needs }, _, request) => {
        const { mount, storage } = needs;
        const caller = request.caller;
        return {
          path: mount.path(),
          defaultTtl: Number(mount.defaultTtl() / SECOND),
          maxTtl: Number(mount.maxTtl() / SECOND),
          where: request.path.text,
          caller: caller === null ? null : { type: caller.type, policies: caller.policies },
          header: request.header("x-colour") ?? null,
          mayRoles: await request.may("read", `${mount.path()}roles/a`),
          mayOther: await request.may("delete", "sys/mounts/other"),
          ticks: (await storage.get("ticks", counts)) ?? 0,
        };
      },
    }),
  ],
};

function roleOf({ role }: JsonObject): string {
  assert.ok(typeof role === "string");
  return role;
}

/** The same, but that it says of none of its paths that it gives secrets there. */
export const secretiveThings: EngineType<Things> = {
  ...thingEngine,
  paths: (options) => thingEngine.paths(options).map((one) => ({ ...one, issues: false })),
};
