// The page of the cloud engines' rows beside what the engines really write in a whole server: every row,
// write-ahead record and lease of a run through all of their work has the members that the page shows, of the
// same types, and no others.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { JsonObject, JsonValue } from "@holdfast/shared/json/json";
import { type EngineNeeds, anyEngine, type EngineType } from "@holdfast/plugin-sdk/engine";
import type { EngineTx } from "@holdfast/plugin-sdk/storage";
import { cloudaType } from "@holdfast/engines/clouda/clouda";
import { cloudbType } from "@holdfast/engines/cloudb/cloudb";
import { cloudaServer } from "../support/servers/cloud-server.ts";
import { passwords, rotate } from "../support/servers/cloudb-root.ts";
import { cloudbServer } from "../support/servers/cloudb-server.ts";
import { MINUTE, SECOND } from "../support/servers/engine-server.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/formats/clouds.md"), "utf8");

// --- what is written ---

interface Written {
  readonly rows: { readonly key: string; readonly value: JsonObject }[];
  /** By kind. */
  readonly records: { readonly kind: string; readonly data: JsonObject }[];
  readonly leases: { readonly kind: string; readonly data: JsonObject }[];
}

/** The engine itself, and what it writes. */
function watched<E>(type: EngineType<E>): { type: EngineType<unknown>; written: Written } {
  const written: Written = { rows: [], records: [], leases: [] };
  const kinds = new Map<string, string>();
  const noted = (id: string, kind: string, data: JsonObject) => {
    kinds.set(id, kind);
    written.records.push({ kind, data });
    return id;
  };
  const watchedTx = (tx: EngineTx): EngineTx => ({
    time: tx.time,
    get: (key, codec) => tx.get(key, codec),
    records: (prefix, codec, page) => tx.records(prefix, codec, page),
    keys: (prefix, page) => tx.keys(prefix, page),
    list: (prefix, page) => tx.list(prefix, page),
    put: (key, value, codec) => {
      const text = Buffer.from(codec.encode(value)).toString("utf8");
      written.rows.push({ key, value: JSON.parse(text) as JsonObject });
      tx.put(key, value, codec);
    },
    delete: (key) => tx.delete(key),
    settle: (id) => tx.settle(id),
    begin: (kind, data) => noted(tx.begin(kind, data), kind, data),
  });
  const watchedNeeds = (needs: EngineNeeds): EngineNeeds => {
    const { storage, writeAhead } = needs;
    return {
      ...needs,
      storage: {
        get: (key, codec) => storage.get(key, codec),
        records: (prefix, codec, page) => storage.records(prefix, codec, page),
        keys: (prefix, page) => storage.keys(prefix, page),
        list: (prefix, page) => storage.list(prefix, page),
        write: (fn, options) => storage.write((tx) => fn(watchedTx(tx)), options),
      },
      writeAhead: {
        begin: async (kind, data) => noted(await writeAhead.begin(kind, data), kind, data),
        note: (id, data) => {
          noted(id, kinds.get(id) ?? "unknown", data);
          return writeAhead.note(id, data);
        },
        drop: (id) => writeAhead.drop(id),
        orphan: async (kind, data, cause) =>
          noted(await writeAhead.orphan(kind, data, cause), kind, data),
      },
    };
  };
  const secrets = Object.entries(type.secrets ?? {}).map(([kind, secret]) => {
    const revoke: typeof secret.revoke = (engine, lease, signal) => {
      written.leases.push({ kind, data: lease.internal });
      return secret.revoke(engine, lease, signal);
    };
    return [kind, { ...secret, revoke }] as const;
  });
  const spy: EngineType<E> = {
    ...type,
    open: (needs) => type.open(watchedNeeds(needs)),
    secrets: Object.fromEntries(secrets),
  };
  return { type: anyEngine(spy), written };
}

// --- compared with the page ---

const OPEN = ["iamTags", "sessionTags"]; // names in them are callers'

function example(name: string): JsonObject {
  const [, text] = new RegExp(`\`\`\`json ${name}\\n([\\s\\S]*?)\`\`\``).exec(PAGE) ?? [];
  assert.ok(text !== undefined, `the page has no ${name}`);
  return JSON.parse(text) as JsonObject;
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** In what a value differs from the page's; null and absent ones, where allowed, do not. */
function differences(real: JsonValue, documented: JsonValue, where: string): string[] {
  if (real === null || documented === null) return [];
  if (Array.isArray(real) && Array.isArray(documented)) {
    const [first] = documented;
    if (first === undefined) return [];
    return real.flatMap((one: JsonValue) => differences(one, first, `${where}[]`));
  }
  if (isObject(real) && isObject(documented)) {
    if (OPEN.some((name) => where.endsWith(`.${name}`))) return [];
    const names = new Set([...Object.keys(real), ...Object.keys(documented)]);
    return [...names].flatMap((name) => {
      const [a, b] = [real[name], documented[name]];
      if (b === undefined) return [`${where}.${name} is not on the page`];
      if (a === undefined) return [`${where}.${name} is on the page alone`];
      return differences(a, b, `${where}.${name}`);
    });
  }
  return typeof real === typeof documented && Array.isArray(real) === Array.isArray(documented)
    ? []
    : [`${where} is ${typeof real}, on the page ${typeof documented}`];
}

function checkRows(written: Written, names: Readonly<Record<string, string>>): void {
  const seen = new Set<string>();
  for (const { key, value } of written.rows) {
    const place = key.replace(/^([a-z-]+\/)(?!root$|lease$).*$/, "$1<name>");
    const name = names[place];
    assert.ok(name !== undefined, `${place} is not on the page`);
    assert.ok(PAGE.includes(`| \`${place}\``), place);
    assert.deepEqual(differences(value, example(name), name), []);
    seen.add(name);
  }
  assert.deepEqual([...seen].toSorted(), Object.values(names).toSorted());
}

const quoted = (cell: string) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = ""]) => name);

/** Rows of the table of this title: the kind, what is always there, what is so at times. */
function table(title: string) {
  const [, rows = ""] =
    new RegExp(`\\| ${title} .*\\n\\|[ |-]+\\n((?:\\|.*\\n)+)`).exec(PAGE) ?? [];
  return new Map(
    rows
      .trim()
      .split("\n")
      .map((row) => {
        const [, kind = "", always = "", sometimes = ""] = row.split("|");
        return [quoted(kind)[0] ?? "", { always: quoted(always), sometimes: quoted(sometimes) }];
      }),
  );
}

function checkKinds(title: string, written: Written["records"], kinds: readonly string[]): void {
  const rows = table(title);
  assert.deepEqual([...rows.keys()].toSorted(), kinds.toSorted());
  assert.deepEqual([...new Set(written.map(({ kind }) => kind))].toSorted(), kinds.toSorted());
  for (const { kind, data } of written) {
    const { always = [], sometimes = [] } = rows.get(kind) ?? {};
    const names = Object.keys(data).filter((name) => !sometimes.includes(name));
    assert.deepEqual(names.toSorted(), always.toSorted(), kind);
  }
  // And what is there at times was there.
  for (const [kind, { sometimes }] of rows) {
    const all = written.filter((one) => one.kind === kind).flatMap(({ data }) => Object.keys(data));
    for (const name of sometimes) assert.ok(all.includes(name), `${kind} never had ${name}`);
  }
}

/** By the page, every secret is in one of these members, and nowhere else. */
const SECRET = ["secretKey", "clientSecret", "secret"];

function checkSecrets(written: Written, issued: readonly string[]): void {
  for (const name of SECRET) assert.ok(PAGE.includes(`\`${name}\` of`), name);
  const held = written.rows.flatMap(({ value }) => SECRET.map((name) => value[name]));
  const secrets = held.filter((one) => typeof one === "string").filter((one) => one !== "");
  assert.ok(secrets.length > 0 && issued.length > 0);
  const rest = written.rows.map(({ value }) =>
    Object.entries(value).filter(([name]) => !SECRET.includes(name)),
  );
  const text = JSON.stringify([rest, written.records, written.leases]);
  for (const secret of secrets) assert.ok(!text.includes(secret), "a secret besides");
  // What a lease was given for is kept nowhere at all.
  const all = JSON.stringify(written);
  for (const secret of issued) assert.ok(!all.includes(secret), "an issued secret");
}

test("what clouda keeps is what its page says", async (t) => {
  const { type, written } = watched(cloudaType);
  const server = await cloudaServer(t, { engineTypes: [type] });
  await server.configure({ rotation_period: "720h", region: "eu-west-1" });
  await server.must("POST", "clouda/config/lease", { lease: "30m", lease_max: "12h" });
  await server.makeRole("user", { iam_tags: ["team=ci"] });
  const roleArn = "arn:aws:iam::123456789012:role/deploy";
  const session = { credential_type: "assumed_role", role_arns: [roleArn], policy_arns: [] };
  await server.makeRole("session", session);
  const issued: string[] = [];
  for (const place of ["clouda/creds/user", "clouda/sts/session"]) {
    const { lease, secretKey } = await server.creds(place);
    issued.push(secretKey);
    await server.timed(server.revoke(lease, { sync: true }));
  }
  await server.timed(server.must("POST", "clouda/config/rotate-root"));
  server.fake.control.makeUser("app");
  const adopted = { username: "app", rotation_period: "24h", overlap: "1h" };
  await server.timed(server.must("POST", "clouda/static-roles/app", adopted));
  await server.timed(server.must("POST", "clouda/static-roles/app/rotate"));
  checkRows(written, {
    "config/root": "clouda-root",
    "config/lease": "clouda-lease",
    "role/<name>": "clouda-role",
    "static-roles/<name>": "clouda-static-role",
    "static-creds/<name>": "clouda-static-creds",
    "static-making/<name>": "clouda-static-making",
  });
  checkKinds("Write-ahead record of clouda", written.records, Object.keys(cloudaType.undo ?? {}));
  checkKinds("Lease of clouda", written.leases, Object.keys(cloudaType.secrets ?? {}));
  checkSecrets(written, issued);
});

test("what cloudb keeps is what its page says", async (t) => {
  const { type, written } = watched(cloudbType);
  const server = await cloudbServer(t, { engineTypes: [type] });
  const { control } = server.fake;
  const { scope } = server;
  const group = { object_id: control.makeGroup("ops") };
  const issued: string[] = [];
  const lease = async (name: string) => {
    const credentials = await server.creds(name);
    issued.push(credentials.clientSecret);
    return credentials.lease;
  };

  // A principal, whose answers are lost at first, and of which something stays behind.
  await server.makeRole("one", { cloudb_groups: [group], permanently_delete: true });
  control.fault({ action: "createApplication", effect: { kind: "lost" } });
  const one = await lease("one");
  const effect = { kind: "refuse", status: 403, code: "Authorization_RequestDenied" } as const;
  control.fault({ action: "deleteServicePrincipal", effect });
  await server.revokeNow(one);
  control.clearFaults();

  // A role with an application of its own, which then wants something else.
  await server.makeRole("kept", { persist_app: true });
  control.fault({ action: "addApplicationPassword", effect: { kind: "lost" } });
  await server.revokeNow(await lease("kept"));
  control.clearFaults();
  const roles = JSON.stringify([{ role_name: "Owner", scope }]);
  await server.makeRole("kept", { cloudb_roles: roles, cloudb_groups: [group] });

  const before = passwords(server);
  await rotate(server);
  await server.pass(6n * MINUTE, 20n * SECOND);
  assert.notDeepEqual(passwords(server), before);
  checkRows(written, {
    config: "cloudb-config",
    rotation: "cloudb-rotation",
    "roles/<name>": "cloudb-role",
  });
  checkKinds("Write-ahead record of cloudb", written.records, Object.keys(cloudbType.undo ?? {}));
  checkKinds("Lease of cloudb", written.leases, Object.keys(cloudbType.secrets ?? {}));
  checkSecrets(written, issued);
});
