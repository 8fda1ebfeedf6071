// Reads back over the API everything that a ledger knows of, and says what is not as it must be.

import { setTimeout as pause } from "node:timers/promises";
import { type Answer, at } from "../../tests/support/http-client.ts";
import { type ApiLedger, UNSET } from "./api-ledger.ts";
import { writeOf } from "./api-metadata.ts";
import type { Api } from "./api-server.ts";

const LONGEST_DELETION_MS = 10_000;

export interface ReadingOptions {
  readonly clients: number;
  /** A power loss may take what was not synced of an audit file. Default: it must be whole. */
  readonly auditCut?: boolean;
}

/** What was found is from now on what the ledger knows. */
export async function readBack(
  api: Api,
  ledger: ApiLedger,
  { clients, auditCut = false }: ReadingOptions,
): Promise<string[]> {
  const listed = await api.expect([200, 404], "LIST", "sys/namespaces");
  const present = new Set<string>();
  const wrong: string[] = [];
  const writers = Array.from({ length: clients }, async (_, id) => {
    const { record, complaints } = await readNamespace(api, `w${id}`, listed);
    wrong.push(...complaints);
    if (record !== null) present.add(`w${id}/`);
    const n = record === null ? UNSET : writeOf(id, record.metadata);
    if (n === null) wrong.push(`w${id} has metadata of no write: ${JSON.stringify(record)}`);
    else wrong.push(...ledger.found(`writer/${id}`, String(n)));
  });
  const spaces = ledger.registers("space/").map(async (register) => {
    const path = register.slice("space/".length);
    const { record, complaints } = await readNamespace(api, path, listed);
    wrong.push(...complaints);
    if (record !== null) present.add(`${path}/`);
    else await deletionEnds(api, path, wrong);
    wrong.push(...ledger.found(register, record === null ? UNSET : birthOf(record.metadata)));
  });
  await Promise.all([...writers, ...spaces]);
  for (const name of names(listed)) {
    if (!present.has(name)) wrong.push(`the namespace ${name} is listed and was never made`);
  }
  wrong.push(...(await readKeys(api, ledger)), ...(await readDevices(api, ledger, auditCut)));
  return wrong;
}

interface Found {
  readonly id: string;
  readonly metadata: unknown;
}

/** All the ways to a namespace must agree that it is there, or that it is not. */
async function readNamespace(api: Api, path: string, listed: Answer) {
  const [answer, inside] = await Promise.all([
    api.expect([200, 404], "GET", `sys/namespaces/${path}`),
    api.expect([200, 404, 403], "LIST", "sys/namespaces", { namespace: path }),
  ]);
  const complaints: string[] = [];
  const there = answer.status === 200;
  const [id, metadata] = [at(answer, "data", "id"), at(answer, "data", "custom_metadata")];
  const record: Found | null = there ? { id: String(id), metadata } : null;
  if (!path.includes("/")) {
    const info = at(listed, "data", "key_info", `${path}/`);
    const same = at(listed, "data", "key_info", `${path}/`, "id") === id;
    if ((info !== undefined) !== there || (there && !same)) {
      complaints.push(`${path}: read and list differ: ${answer.text} and ${JSON.stringify(info)}`);
    }
  }
  // A request into a namespace that is not there is refused like one that is not allowed.
  if ((inside.status === 403) === there) {
    complaints.push(`${path}: read says ${answer.status}, a request in it ${inside.status}`);
  }
  return { record, complaints };
}

/** What a deletion had begun before the end it must finish by itself. */
async function deletionEnds(api: Api, path: string, wrong: string[]): Promise<void> {
  const limit = performance.now() + LONGEST_DELETION_MS;
  for (;;) {
    const answer = await api.expect([202, 204, 404], "DELETE", `sys/namespaces/${path}`);
    if (answer.status !== 202) return;
    if (performance.now() > limit) {
      wrong.push(`${path} is still being deleted: ${answer.text}`);
      return;
    }
    await pause(5);
  }
}

async function readKeys(api: Api, ledger: ApiLedger): Promise<string[]> {
  const answer = await api.expect([200], "GET", "sys/key-status");
  return ledger.found("term", String(at(answer, "data", "term")));
}

async function readDevices(api: Api, ledger: ApiLedger, auditCut: boolean): Promise<string[]> {
  const answer = await api.expect([200], "GET", "sys/audit");
  const wrong: string[] = [];
  for (const register of ledger.registers("device/")) {
    const name = register.slice("device/".length);
    const on = at(answer, "data", `${name}/`) !== undefined;
    wrong.push(...ledger.found(register, on ? "on" : UNSET));
    if (!on) continue;
    if (at(answer, "data", `${name}/`, "healthy") !== true) wrong.push(`${name} takes no records`);
    const checked = await api.expect([200], "POST", `sys/audit-verify/${name}`);
    if (at(checked, "data", "valid") !== true && !auditCut) {
      wrong.push(`the trail of ${name}: ${checked.text}`);
    }
  }
  return wrong;
}

function birthOf(metadata: unknown): string {
  const birth: unknown = Object.getOwnPropertyDescriptor(Object(metadata), "birth")?.value;
  return typeof birth === "string" ? birth : "(none)";
}

function names(listed: Answer): string[] {
  const keys = at(listed, "data", "keys");
  return Array.isArray(keys) ? keys.map(String) : [];
}
