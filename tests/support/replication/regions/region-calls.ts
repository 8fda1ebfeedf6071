// What clients do in regions that are processes: tokens, policies and secrets, by the API alone.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, at, type CallOptions } from "../../http-client.ts";
import type { ClusterProcess } from "../cluster-process.ts";
import { is } from "./region-process.ts";

export async function done(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  assert.ok(got.status === 200 || got.status === 204, got.text);
  return got;
}

export type TokenRecord = Readonly<Record<string, unknown>> & {
  readonly AccessorID: string;
  readonly SecretID: string;
};

/** A client token with the policy p, unless said otherwise; by the root token. */
export async function newToken(
  cluster: ClusterProcess,
  fields: object = {},
  token: string = cluster.token,
): Promise<TokenRecord> {
  const body = { Type: "client", Policies: ["p"], ...fields };
  return (await done(cluster.call("POST", "/v1/acl/token", { token, body }))).json as TokenRecord;
}

export function tokenOf(
  cluster: ClusterProcess,
  id: string,
  options: CallOptions = { token: cluster.token },
): Promise<Answer> {
  return cluster.call("GET", `/v1/acl/token/${id}`, options);
}

export function selfOf(cluster: ClusterProcess, token: string): Promise<Answer> {
  return cluster.call("GET", "/v1/acl/token/self", { token });
}

export function rules(n: number | string): string {
  return `path "secret/data/${n}" { capabilities = ["read"] }`;
}

export function writePolicy(
  cluster: ClusterProcess,
  name: string,
  policy: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { token } = cluster;
  const path = `/v1/sys/policies/acl/${name}`;
  return cluster.call("POST", path, { token, body: { policy }, ...options });
}

/** Null where there is none. */
export async function policyOf(cluster: ClusterProcess, name: string): Promise<unknown> {
  const { token } = cluster;
  const answer = await cluster.call("GET", `/v1/sys/policies/acl/${name}`, { token });
  if (answer.status === 404) return null;
  is(answer, 200);
  return at(answer, "data", "policy");
}

/** Where somebody has seen it, as clients hand it back. */
export function stateOf({ headers }: Answer): string {
  const state = headers["x-service-state"];
  assert.ok(typeof state === "string", "every answer has one");
  return state;
}

/** Its requests leave records from here on: gives those of a path. */
export async function recordsOf(cluster: ClusterProcess) {
  const { token, home } = cluster;
  const path = join(home, "data", "audit", "of-test");
  const body = { type: "file", local: true, options: { file_path: path } };
  await done(cluster.call("POST", "/v1/sys/audit/of-test", { token, body }));
  return (place: string) =>
    readFileSync(path, "utf8")
      .split("\n")
      .filter((line) => line.includes(`"path":"${place}"`))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}
