// Members of key/value secrets as variables of an environment. What they are called follows from their
// names by one rule, and nothing is guessed where two would get the same name.

import type { JsonValue } from "@holdfast/shared/json/json";
import type { Client } from "@holdfast/client/client";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { findKv } from "./place.ts";
import { rawText } from "@holdfast/client/exact-json";
import * as kv from "@holdfast/client/api/kv";
import * as kv1 from "@holdfast/client/api/kv1";

type Variables = readonly (readonly [name: string, value: string, from: string])[];

/**
 * Variables that decide which code a program runs, or as whom: whoever may write a secret is not to decide
 * that for whoever reads it.
 */
const STEERING = new RegExp(
  `^(?:${[
    // the shell, the loader, the C library
    "PATH|HOME|SHELL|ENV|IFS|BASH_.*|PS4|PROMPT_COMMAND|CDPATH|ZDOTDIR|TMPDIR|XDG_.*",
    "LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|MALLOC_.*",
    // runtimes of languages, and what builds them
    "NODE_(?!ENV$).*|NPM_CONFIG_.*|PYTHON.*|PIP_.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|LUA_.*|PHP.*",
    "JAVA_.*|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|MAVEN_.*|GRADLE_.*|DOTNET_.*|GO(?:FLAGS|PROXY|ENV)",
    "CARGO_.*|RUSTC.*|MAKEFLAGS",
    // programs that run others
    "EDITOR|VISUAL|.*PAGER|LESS.*|BROWSER|GIT_.*|SSH_.*|SUDO_.*|DOCKER_.*|KUBECONFIG",
    // whom to believe, and by which way
    ".*_PROXY|SSL_CERT_.*|CURL_.*|REQUESTS_CA_BUNDLE|OPENSSL_.*|AWS_(?:CONFIG|SHARED_CREDENTIALS)_FILE",
    "HOLDFAST_.*|VAULT_.*|BAO_.*|NOMAD_.*",
  ].join("|")})$`,
);

/** All members of all secrets; a Failure where one cannot be a variable, before any command runs. */
export async function kvVariables(
  client: Client,
  paths: readonly string[],
  prefix: string,
): Promise<Variables> {
  const found = new Map<string, { readonly value: string; readonly from: string }>();
  for (const path of paths) {
    const place = (await findKv(client, path, undefined)).needKey();
    const members =
      place.version === 1
        ? (await kv1.read(client, place.mount, place.secret)).data
        : ((await kv.read(client, place.mount, place.secret)).data.data ?? {});
    for (const [member, value] of Object.entries(members)) {
      const name = variableName(prefix + member);
      const from = `${JSON.stringify(member)} of ${place.label}`;
      const other = found.get(name);
      if (other !== undefined) {
        throw refused(`${other.from} and ${from} would both be ${name}`, "rename one of them");
      }
      if (STEERING.test(name)) {
        const message = `${from} would be ${name}, which steers the command itself`;
        const at = place.version === 1 ? member : `data.${member}`;
        const chosen = `-env NAME=${at} ${place.dataPath}`;
        throw refused(
          message,
          `add -prefix TEXT, or choose what it gets: ${chosen} instead of -kv`,
        );
      }
      const text = textOf(value);
      if (text.includes("\0")) throw refused(`${from} holds a zero byte`, "store it in base64");
      found.set(name, { value: text, from });
    }
  }
  return Array.from(found, ([name, { value, from }]) => [name, value, from] as const);
}

/** db-password is DB_PASSWORD, 2fa is _2FA. */
function variableName(member: string): string {
  const name = member.toUpperCase().replace(/[^A-Z0-9_]/g, "_");
  return /^[A-Z_]/.test(name) ? name : `_${name}`;
}

/** Text as it is, anything else as JSON; null is empty. */
function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  const digits = rawText(value);
  if (digits !== undefined) return digits;
  return JSON.stringify(value);
}

function refused(message: string, next: string): AdvisedFailure {
  return new AdvisedFailure("invalid", "kv-variable", message, next);
}
