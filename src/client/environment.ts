// Client settings out of the environment, own names first and those of tools that speak the same API
// after them. Each value keeps the name it came from, so that a surprise can be explained.

import { Failure } from "../base/failure.ts";
import { parseDuration, SECOND } from "../base/duration.ts";
import { Secret } from "../base/secret.ts";
import type { Nanos } from "../base/world.ts";
import { DEFAULT_ADDRESS } from "./server-address.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Told<T> {
  readonly value: T;
  /** Where it came from, for people: "HOLDFAST_ADDR", "-address", "the default". */
  readonly from: string;
}

export const DEFAULT_TIMEOUT: Nanos = 60n * SECOND;

const ADDRESS_NAMES = ["HOLDFAST_ADDR", "VAULT_ADDR", "BAO_ADDR"];
export const TOKEN_NAMES: readonly string[] = [
  "HOLDFAST_TOKEN",
  "VAULT_TOKEN",
  "BAO_TOKEN",
  "NOMAD_TOKEN",
];

export const ENVIRONMENT_HELP: readonly (readonly [name: string, help: string])[] = [
  ["HOLDFAST_ADDR", `Address of the server (${DEFAULT_ADDRESS}); else VAULT_ADDR, BAO_ADDR`],
  ["HOLDFAST_TOKEN", "Token; else VAULT_TOKEN, BAO_TOKEN, NOMAD_TOKEN, then ~/.holdfast-token"],
  ["HOLDFAST_NAMESPACE", "Namespace"],
  ["HOLDFAST_CACERT", "File with the authorities to trust, PEM"],
  ["HOLDFAST_CLIENT_CERT", "File with a client certificate, PEM"],
  ["HOLDFAST_CLIENT_KEY", "File with its key, PEM"],
  ["HOLDFAST_SKIP_VERIFY", "true: do not check the server's certificate"],
  ["HOLDFAST_TLS_SERVER_NAME", "Name to expect in the server's certificate"],
  ["HOLDFAST_FORMAT", "table, json or yaml"],
  ["HOLDFAST_REGION", "Region for requests on tokens"],
  ["HOLDFAST_CLIENT_TIMEOUT", "Longest wait for an answer (60s)"],
  ["NO_COLOR", "Any value: no colours"],
];

/** The first of these variables that is set and not empty. */
export function toldBy(env: Environment, ...names: readonly string[]): Told<string> | null {
  for (const name of names) {
    const value = env[name];
    if (value !== undefined && value !== "") return { value, from: name };
  }
  return null;
}

export function addressFrom(env: Environment): Told<string> {
  return toldBy(env, ...ADDRESS_NAMES) ?? { value: DEFAULT_ADDRESS, from: "the default" };
}

export function tokenFrom(env: Environment): Told<Secret<string>> | null {
  const told = toldBy(env, ...TOKEN_NAMES);
  return told === null ? null : { value: new Secret(told.value.trim()), from: told.from };
}

/** Strict: "HOLDFAST_SKIP_VERIFY=no" must never come to mean yes. */
export function switchFrom(env: Environment, name: string): boolean {
  const told = toldBy(env, name);
  if (told === null || told.value === "false" || told.value === "0") return false;
  if (told.value === "true" || told.value === "1") return true;
  throw new Failure("invalid", "environment-invalid", `${name} must be true or false`);
}

export function timeoutFrom(env: Environment): Nanos {
  const told = toldBy(env, "HOLDFAST_CLIENT_TIMEOUT");
  return told === null ? DEFAULT_TIMEOUT : positive(told.value, told.from);
}

export function positive(text: string, from: string): Nanos {
  const length = parseDuration(text);
  if (length > 0n) return length;
  throw new Failure("invalid", "environment-invalid", `${from} must be longer than 0s`);
}
