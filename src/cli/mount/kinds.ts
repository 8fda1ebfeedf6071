// The two kinds of mounts: where they are on the wire, what they are called, and the settings that both
// share.

import { showDuration } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import * as mounts from "@holdfast/client/api/mounts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

/** What both have an endpoint for, each its own. */
interface MountCalls {
  readonly list: typeof mounts.listMounts;
  readonly enable: typeof mounts.enableMount;
  readonly read: typeof mounts.readMount;
  readonly disable: typeof mounts.disableMount;
  readonly readTuning: typeof mounts.readMountTuning;
  readonly tune: typeof mounts.tuneMount;
}

export interface MountKind {
  /** First word of its commands. */
  readonly group: "secrets" | "auth";
  readonly calls: MountCalls;
  readonly noun: string;
  readonly types: readonly string[];
  readonly typesHelp: string;
  readonly pathHelp: string;
  /** What a move calls it by: auth mounts have a prefix there. */
  readonly prefix: "" | "auth/";
}

export const SECRETS: MountKind = {
  group: "secrets",
  calls: {
    list: mounts.listMounts,
    enable: mounts.enableMount,
    read: mounts.readMount,
    disable: mounts.disableMount,
    readTuning: mounts.readMountTuning,
    tune: mounts.tuneMount,
  },
  noun: "secrets engine",
  types: ["kv", "kv-v1", "kv-v2", "clouda", "aws", "cloudb", "azure"],
  typesHelp: "kv (kv-v1 or kv-v2 to say which version), clouda (aws), cloudb (azure)",
  pathHelp: "Where it is mounted, such as secret",
  prefix: "",
};

export const AUTH: MountKind = {
  group: "auth",
  calls: {
    list: mounts.listAuthMethods,
    enable: mounts.enableAuthMethod,
    read: mounts.readAuthMethod,
    disable: mounts.disableAuthMethod,
    readTuning: mounts.readAuthMethodTuning,
    tune: mounts.tuneAuthMethod,
  },
  noun: "auth method",
  types: ["userpass", "approle"],
  typesHelp: "userpass or approle",
  pathHelp: "Where it is mounted below auth/, such as userpass",
  prefix: "auth/",
};

/** As people write it: with or without slashes at its ends, and auth/ in front of an auth mount. */
export function mountPath(kind: MountKind, typed: string): string {
  const bare = typed.replace(/^\/+|\/+$/g, "");
  const path = bare.startsWith(kind.prefix) ? bare.slice(kind.prefix.length) : bare;
  if (path === "") throw new UsageError(`PATH is missing: ${kind.pathHelp}`);
  return path;
}

/** Settings that can be given when it is enabled, and changed later. */
export const MOUNT_FLAGS = {
  description: flag.string("What it is for"),
  defaultLeaseTtl: flag.duration(
    "How long leases last where nothing else is said; 0: the server's",
  ),
  maxLeaseTtl: flag.duration("How long they last at most; 0: the server's"),
  listingVisibility: flag.oneOf(["hidden", "unauth"], "unauth: listed without a token too"),
  auditNonHmacRequestKeys: flag.string("Field of requests audited in clear", "NAME").repeated(),
  auditNonHmacResponseKeys: flag.string("Field of answers audited in clear", "NAME").repeated(),
  passthroughRequestHeaders: flag.string("Header that it is told of", "NAME").repeated(),
  allowedResponseHeaders: flag.string("Header that it may answer with", "NAME").repeated(),
  pluginVersion: flag.string("Version of a plugin (whichever is chosen)", "VERSION"),
  config: flag.pair("Any other setting").repeated(),
  option: flag.pair("Option of the type, such as version=1").repeated(),
};

interface MountSettings {
  readonly defaultLeaseTtl: Nanos | undefined;
  readonly maxLeaseTtl: Nanos | undefined;
  readonly listingVisibility: string | undefined;
  readonly auditNonHmacRequestKeys: readonly string[];
  readonly auditNonHmacResponseKeys: readonly string[];
  readonly passthroughRequestHeaders: readonly string[];
  readonly allowedResponseHeaders: readonly string[];
  readonly pluginVersion: string | undefined;
  readonly config: readonly (readonly [string, string])[];
}

export type MountConfig = Omit<mounts.TuneMountInput, "path">;

/** What was given of them, by their names on the wire. */
export function configOf(settings: MountSettings): MountConfig {
  const length = (value: Nanos | undefined) =>
    value === undefined ? undefined : showDuration(value);
  const list = (values: readonly string[]) => (values.length === 0 ? undefined : [...values]);
  const fields = {
    default_lease_ttl: length(settings.defaultLeaseTtl),
    max_lease_ttl: length(settings.maxLeaseTtl),
    listing_visibility: settings.listingVisibility,
    plugin_version: settings.pluginVersion,
    audit_non_hmac_request_keys: list(settings.auditNonHmacRequestKeys),
    audit_non_hmac_response_keys: list(settings.auditNonHmacResponseKeys),
    passthrough_request_headers: list(settings.passthroughRequestHeaders),
    allowed_response_headers: list(settings.allowedResponseHeaders),
    ...Object.fromEntries(settings.config),
  };
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  // Any other setting is the server's to judge.
  return Object.fromEntries(entries) as MountConfig;
}
