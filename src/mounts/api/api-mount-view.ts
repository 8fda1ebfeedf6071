// A mount as answers show it.

import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { defaultTtlOf, maxTtlOf, type ServerTtls } from "../table/mount-config.ts";
import type { MountRecord } from "../table/mount-record.ts";
import type { MountView } from "../ports.ts";
import { SECOND } from "@holdfast/shared/text/duration";

const text = (help: string) => out.string(help);
const texts = (help: string) => out.optional(out.list(out.string("Name."), help));

const config = out.object({
  default_lease_ttl: out.integer("Seconds; 0: as the server says."),
  max_lease_ttl: out.integer("Seconds; 0: as the server says."),
  force_no_cache: out.boolean("Kept for older clients."),
  audit_non_hmac_request_keys: texts("Members of requests that audit shows in clear."),
  audit_non_hmac_response_keys: texts("Members of answers that audit shows in clear."),
  listing_visibility: out.optional(text("Whether everybody is shown it.")),
  passthrough_request_headers: texts("Headers for plugins."),
  allowed_response_headers: texts("Headers of plugins."),
  identity_token_key: out.optional(text("Name of a key.")),
  token_type: out.optional(text("Kind of the tokens of an auth method.")),
  user_lockout_config: out.optional(out.anyObject("When logins of one name are refused.")),
});

const members = {
  accessor: text("Names the mount in policies and audit; never changes."),
  type: text("Its type."),
  description: text("What operators noted about it."),
  uuid: text("Unique for ever."),
  local: out.boolean("Kept out of performance replication."),
  seal_wrap: out.boolean("Whether that was asked for."),
  external_entropy_access: out.boolean("Always false."),
  options: out.nullable(out.mapOf(out.string("Text."), "Options of its type.")),
  config,
  plugin_version: text("The version that was asked for."),
  running_plugin_version: text("The version that runs."),
  running_sha256: text("Of a plugin."),
  deprecation_status: text("Whether the type will go."),
  state: out.optional(
    out.oneOf(
      ["disabling", "moving", "unloaded"],
      "Why no request reaches it, or none is answered.",
    ),
  ),
  leases_left: out.optional(out.integer("Leases still to be revoked.")),
  trouble: out.optional(text("Why it does not answer, or does not get on.")),
  shadowed: out.optional(
    out.list(
      out.object({
        path: text("Where it is in other regions."),
        accessor: text("Names it in policies and audit."),
        type: text("Its type."),
        uuid: text("Unique for ever."),
      }),
      "Shared mounts of another region that no path leads to here, since this local one is in their way.",
    ),
  ),
};

export const mountOutput = out.object(members);
export const mountWithPath = out.object({ ...members, path: text("Where it is, with a slash.") });
export const tuningOutput = out.object({
  default_lease_ttl: out.integer("Seconds."),
  max_lease_ttl: out.integer("Seconds."),
  force_no_cache: out.boolean("Kept for older clients."),
  description: text("What operators noted about it."),
  options: out.nullable(out.mapOf(out.string("Text."), "Options of its type.")),
  audit_non_hmac_request_keys: texts("Members of requests that audit shows in clear."),
  audit_non_hmac_response_keys: texts("Members of answers that audit shows in clear."),
  listing_visibility: out.optional(text("Whether everybody is shown it.")),
  passthrough_request_headers: texts("Headers for plugins."),
  allowed_response_headers: texts("Headers of plugins."),
  identity_token_key: out.optional(text("Name of a key.")),
  token_type: out.optional(text("Kind of the tokens of an auth method.")),
  user_lockout_config: out.optional(out.anyObject("When logins of one name are refused.")),
});

export function showMount(view: MountView): OutputOf<typeof mountOutput> {
  const { record, version, sha256, trouble, leasesLeft, shadowed } = view;
  const { config: own, state, plugin } = record;
  const unloaded = plugin !== undefined && trouble !== null && state.kind === "active";
  return {
    accessor: record.accessor,
    type: record.type,
    description: record.description,
    uuid: record.uuid,
    local: record.local,
    seal_wrap: record.sealWrap,
    external_entropy_access: false,
    options: optionsOf(record),
    config: {
      default_lease_ttl: own.defaultLeaseTtl,
      max_lease_ttl: own.maxLeaseTtl,
      ...showConfig(record),
    },
    plugin_version: plugin?.version ?? "",
    running_plugin_version: unloaded ? "" : version,
    running_sha256: sha256,
    deprecation_status: "supported",
    ...(state.kind === "active" ? {} : { state: state.kind }),
    ...(unloaded ? { state: "unloaded" as const } : {}),
    ...(leasesLeft === null ? {} : { leases_left: leasesLeft }),
    ...(trouble === null ? {} : { trouble }),
    ...(shadowed.length === 0 ? {} : { shadowed: shadowed.map(showShadowed) }),
  };
}

function showShadowed({ path, accessor, type, uuid }: MountRecord) {
  return { path, accessor, type, uuid };
}

/** What holds: lifetimes as they come out. */
export function showTuning({ record }: MountView, ttls: ServerTtls): OutputOf<typeof tuningOutput> {
  return {
    default_lease_ttl: Number(defaultTtlOf(record.config, ttls) / SECOND),
    max_lease_ttl: Number(maxTtlOf(record.config, ttls) / SECOND),
    description: record.description,
    options: optionsOf(record),
    ...showConfig(record),
  };
}

/** Null where there are none, which is what clients look for. */
function optionsOf({ options }: MountRecord) {
  return Object.keys(options).length === 0 ? null : options;
}

function showConfig({ config: own, kind }: MountRecord) {
  return {
    force_no_cache: own.forceNoCache,
    ...unlessEmpty("audit_non_hmac_request_keys", own.clearRequestKeys),
    ...unlessEmpty("audit_non_hmac_response_keys", own.clearResponseKeys),
    ...unlessEmpty("listing_visibility", own.listingVisibility),
    ...unlessEmpty("passthrough_request_headers", own.passthroughRequestHeaders),
    ...unlessEmpty("allowed_response_headers", own.allowedResponseHeaders),
    ...unlessEmpty("identity_token_key", own.identityTokenKey),
    ...(kind === "auth" ? { token_type: own.tokenType } : {}),
    ...(own.lockout === null ? {} : { user_lockout_config: own.lockout }),
  };
}

function unlessEmpty<K extends string, V extends string | readonly string[]>(
  key: K,
  value: V,
): { readonly [P in K]?: V } {
  return value.length === 0 ? {} : ({ [key]: value } as { readonly [P in K]: V });
}
