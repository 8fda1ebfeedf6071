// Where a key lies: which mount serves the path that a person typed, of which version, and what of the
// path is the key. The server is asked, since a mount may have several segments.

import { Failure } from "@holdfast/shared/failure";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import { restOfPath } from "@holdfast/client/request-path";
import * as mounts from "@holdfast/client/api/mounts";
import { METRICS_ONLY } from "../advice/advice.ts";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { flag } from "../line/flag.ts";
import { governedDenial } from "../advice/policy-advice.ts";
import { showValue } from "../terminal/value.ts";
import { UsageError } from "../line/usage-error.ts";

export const MOUNT_FLAG = {
  mount: flag.string("Mount; PATH then begins inside it", "PATH"),
};

export const KEY_HELP = "Path of the secret, beginning with its mount: secret/app";

export class KvPlace {
  readonly version: 1 | 2;
  /** With slash, as people write it. */
  readonly mount: string;
  /** The key, without slashes at its ends; empty for the mount itself. */
  readonly key: string;

  constructor(mount: string, version: 1 | 2, key: string) {
    this.mount = mount;
    this.version = version;
    this.key = key;
  }

  /** As people write it. */
  get label(): string {
    return `${this.mount}${this.key}`;
  }

  /** Where the API has its data, escaped: for people who name paths. Version 1 has one place for all. */
  get dataPath(): string {
    const parts = [this.mount, this.version === 1 ? "" : "data", this.key].filter(Boolean);
    return parts.map(restOfPath).join("/");
  }

  /** How functions of the client name the secret. */
  get secret(): { readonly path: string } {
    return { path: this.key };
  }

  /** The place of a key, which must be named. */
  needKey(): this {
    if (this.key !== "") return this;
    throw new UsageError(`${this.mount} is the mount; the path of a secret goes further`);
  }

  /** What only version 2 has. */
  needVersions(): this {
    if (this.version === 2) return this;
    throw new UsageError(
      `${this.mount} is of version 1, which keeps one version of each secret and cannot do this`,
      "make a mount of version 2: `holdfast secrets enable -path PATH kv-v2`",
    );
  }
}

export async function findKv(
  client: Client,
  typed: string,
  mount: string | undefined,
): Promise<KvPlace> {
  const trim = (text: string) => text.replace(/^\/+|\/+$/g, "");
  const path = [mount === undefined ? "" : trim(mount), trim(typed)].filter(Boolean).join("/");
  if (path === "") throw new UsageError(`PATH is missing: ${KEY_HELP}`);
  const { data } = await mounts.readServingMount(client, { path }).catch((error: unknown) => {
    throw explained(error, path, client.namespace);
  });
  const { path: at, type, options } = data;
  if (typeof at !== "string" || !`${path}/`.startsWith(at)) {
    throw new Failure("upstream", "answer-malformed", "the server does not tell the mount");
  }
  if (type !== "kv") {
    throw new AdvisedFailure(
      "invalid",
      "mount-not-kv",
      `${at} is no kv mount, but one of type ${showValue(type)}`,
      "use `holdfast read` and `holdfast write` there; `holdfast secrets list` shows the types",
    );
  }
  if (mount !== undefined && trim(mount) !== trim(at)) {
    throw new UsageError(`there is no mount ${trim(mount)}/; ${at} serves this path`);
  }
  return new KvPlace(
    at,
    showValue(options?.["version"]) === "1" ? 1 : 2,
    trim(`${path}/`.slice(at.length)),
  );
}

/** Whether there is no mount, or one that is none of the caller's business, is told to some alone. */
function explained(error: unknown, path: string, namespace: string): unknown {
  if (!(error instanceof ApiError) || error.code === METRICS_ONLY) return error;
  if (error.kind === "not-found") {
    const next = "`holdfast secrets list` shows what is mounted; check -namespace too";
    return new AdvisedFailure("not-found", "kv-mount-absent", `no mount serves ${path}`, next);
  }
  // That it is a matter of a governing policy is what helps to know, and is told with its name.
  if (governedDenial(error) !== null) return error;
  const known = !error.says("invalid token") && !error.says("missing client token");
  if (error.kind !== "denied" || !known) return error;
  return new AdvisedFailure(
    "denied",
    "kv-mount-unseen",
    `no mount that this token may use serves ${path}`,
    namespace === ""
      ? "check the path and -namespace; if both are right, a policy must allow something below it"
      : `check the path and the namespace ${namespace}, if there is one of that name; if both are right, ` +
          "a policy there must allow something below it",
  );
}
