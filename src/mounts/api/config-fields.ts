// What can be tuned, as it stands on the wire: in the body of tune, and inside `config` when a mount is
// made. Older clients send "" for what they leave alone.

import { fold } from "@holdfast/shared/text/fold";
import { DAY } from "@holdfast/shared/text/duration";
import { fieldInvalid } from "../failures.ts";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { canonicalMembers, ignored, withMembers } from "@holdfast/shared/endpoint/members";
import { type Field, fieldOf } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";
import { LOCKOUT_FIELDS, readLockout } from "@holdfast/plugin-sdk/lockout";
import type { MountKind } from "../table/mount-record.ts";
import { type ConfigChange, LISTING_VISIBILITIES, TOKEN_TYPES } from "../table/mount-config.ts";

const LONGEST = 10n * 365n * DAY;

/** A length as everywhere, and "system"; 0 is the server's as well. "" and nothing leave it as it is. */
function ttl(name: string, help: string): Field<number | undefined> {
  const length = wire.body(name).seconds(help, { max: LONGEST, or: "system" });
  const plain = (input: JsonValue) => (input === "system" ? 0 : input);
  const isLeft = (input: JsonValue | undefined) =>
    input === undefined || input === null || input === "";
  return {
    ...fieldOf(length),
    required: false,
    canonical: (input) => (isLeft(input) ? null : length.canonical?.(plain(input))),
    read: (input) => (isLeft(input) ? undefined : length.read(plain(input ?? null))),
  };
}

/** What is left out of it stays. */
const lockout: Field<JsonObject | undefined> = withMembers(
  {
    source: "body",
    name: "user_lockout_config",
    help: "When logins of one name are refused for a while; of auth methods with passwords.",
    secret: false,
    required: false,
    schema: {
      type: "object",
      properties: Object.fromEntries(LOCKOUT_FIELDS.map(({ name, schema }) => [name, schema])),
    },
    canonical: lockoutOf,
    read: (value) => (value === undefined || value === null ? undefined : lockoutOf(value)),
  },
  LOCKOUT_FIELDS,
);

function lockoutOf(value: JsonValue): JsonObject {
  if (!isObject(value)) {
    throw fieldInvalid("user_lockout_config must be an object");
  }
  readLockout(value); // refuses what it does not understand
  return canonicalMembers(value, LOCKOUT_FIELDS);
}

const tokenTypeText = wire
  .body("token_type")
  .oneOf([...TOKEN_TYPES, ""], "Kind of the tokens of an auth method.")
  .optional();
const tokenType: Field<(typeof TOKEN_TYPES)[number] | undefined> = {
  ...fieldOf(tokenTypeText),
  canonical: (value) => (value === "" ? null : value),
  read: (value) => tokenTypeText.read(value) || undefined,
};

const HEADERS = { max: 100 };

const COMMON_FIELDS = {
  defaultLeaseTtl: ttl("default_lease_ttl", "Lifetime of a lease for which none was asked."),
  maxLeaseTtl: ttl("max_lease_ttl", "Longest lifetime of a lease."),
  forceNoCache: wire
    .body("force_no_cache")
    .boolean("Kept for older clients, without effect: nothing that is cached is ever old.")
    .optional(),
  clearRequestKeys: wire
    .body("audit_non_hmac_request_keys")
    .list("Members of requests that audit shows in clear.")
    .optional(),
  clearResponseKeys: wire
    .body("audit_non_hmac_response_keys")
    .list("Members of answers that audit shows in clear.")
    .optional(),
  listingVisibility: wire
    .body("listing_visibility")
    .oneOf(LISTING_VISIBILITIES, "Whether sys/internal/ui/mounts shows it to everybody.")
    .optional(),
  passthroughRequestHeaders: wire
    .body("passthrough_request_headers")
    .list("Headers of requests that the engine is told of.", {
      ...HEADERS,
      show: fold,
      caseless: true,
    })
    .optional(),
  allowedResponseHeaders: wire
    .body("allowed_response_headers")
    .list("Headers that the engine may answer with.", { ...HEADERS, show: fold, caseless: true })
    .optional(),
  identityTokenKey: wire
    .body("identity_token_key")
    .string("Name of the key for identity tokens: default.", { max: 128 })
    .optional(),
};

/** Given for a secret engine it says nothing: whoever does is told, as of what nobody knows. */
function ofAuthMethods<T>(field: Field<T>): Field<undefined> {
  return {
    ...fieldOf(field),
    help: `${field.help} Ignored, with a warning: this is no auth method.`,
    notice: (value, at = field.name) =>
      value === "" ? [] : ignored("settings of auth methods", [at]),
    read: () => undefined,
  };
}

export const CONFIG_FIELDS = {
  auth: { ...COMMON_FIELDS, tokenType, lockout },
  secret: {
    ...COMMON_FIELDS,
    tokenType: ofAuthMethods(tokenType),
    lockout: ofAuthMethods(lockout),
  },
};

type ReadConfig = {
  readonly [K in keyof typeof CONFIG_FIELDS.auth]: ReturnType<
    (typeof CONFIG_FIELDS.auth)[K]["read"]
  >;
};

const config = wire.body("config").object("What can be tuned.").optional();

/** Older clients give these there too. */
const MEMBERS_BESIDE = [{ name: "plugin_version" }, { name: "plugin_name" }, { name: "options" }];

/** `config` of a new mount: each member as its field is read. */
export function configField(kind: MountKind): Field<JsonObject | undefined> {
  const members = Object.values(CONFIG_FIELDS[kind]);
  return withMembers(
    {
      ...config,
      canonical: (value) => (isObject(value) ? canonicalMembers(value, members) : undefined),
    },
    [...members, ...MEMBERS_BESIDE],
  );
}

export function readConfig(
  kind: MountKind,
  value: JsonObject,
): {
  readonly change: ConfigChange;
  readonly version: string | undefined;
  readonly pluginName: string | undefined;
} {
  const entries = Object.entries(CONFIG_FIELDS[kind]);
  const read = entries.map(([key, field]) => [key, field.read(value[field.name])]);
  const version = wire.body("plugin_version").string("").optional().read(value["plugin_version"]);
  const pluginName = wire.body("plugin_name").string("").optional().read(value["plugin_name"]);
  return { change: Object.fromEntries(read) as ReadConfig, version, pluginName };
}
