// Endpoints of the configuration: root credentials, their rotation, leases, and what our credentials may do.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { showTime } from "@holdfast/shared/text/time";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { type Field, fieldOf, type InputOf } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";
import * as fields from "../../cloud/fields.ts";
import {
  rootRotationFields,
  rootRotationOutput,
  showRotation,
} from "../../cloud/rotation-fields.ts";
import { hasDays, readGoDuration } from "../../cloud/go-duration.ts";
import { errorForCaller } from "../../cloud/provider-error.ts";
import { halfPairs, sourceOf } from "../provider/credential-source.ts";
import type { CloudA } from "../engine.ts";
import { notFound } from "../failures.ts";
import { defaultTemplate } from "../roles/names.ts";
import { permissions } from "../provider/permission-check.ts";
import { seconds } from "./role-fields.ts";
import type { RootChange, StoredRoot } from "../keys/root-config.ts";
import { ROOT_LOCK } from "../keys/root-rotation.ts";
import { namePrefix } from "../../cloud/settings.ts";

const endpoint = engineEndpoints<CloudA>();

const MAX_TEMPLATE = 100_000;
const text = (name: string, help: string, max = 2048) =>
  fields.text(name, help, "body", max).optional();

/** Judged as it is called: the case of scheme and host, the usual port and a last slash say nothing. */
const url = (name: string, help: string) =>
  fields.text(name, help, "body", 2048, calledUrl).optional();

function calledUrl(text: string): string {
  const [, scheme = "", host = "", path = ""] =
    /^(https?):\/\/([^/?#]+)(.*)$/is.exec(text.trim()) ?? [];
  if (scheme === "") return text;
  const usual = scheme.toLowerCase() === "https" ? /:443$/ : /:80$/;
  const place = host.toLowerCase().replace(usual, "");
  return `${scheme.toLowerCase()}://${place}${path.replace(/\/$/, "")}`;
}

const rootFields = {
  accessKey: text("access_key", "Id of the access key that this service calls with.", 256),
  secretKey: fields.secretText("secret_key", "Its secret. Never shown again.", 1024).optional(),
  region: text("region", "Region; else CLOUDA_REGION, CLOUDA_DEFAULT_REGION, us-east-1.", 64),
  iamEndpoint: url("iam_endpoint", "URL of IAM, instead of the provider's."),
  stsEndpoint: url("sts_endpoint", "URL of STS, instead of the provider's."),
  maxRetries: wire
    .body("max_retries")
    .integer("How often a call that failed is tried again; -1: as the provider's SDK does.", {
      min: -1,
    })
    .optional(),
  usernameTemplate: text(
    "username_template",
    "Template of names, for users and sessions; left out or empty: the built-in one.",
    MAX_TEMPLATE,
  ),
  stsRegion: text("sts_region", "Region that goes with sts_endpoint.", 64),
  stsFallbackEndpoints: fields
    .items(
      "sts_fallback_endpoints",
      "URLs of STS that are tried in turn when the one before cannot be reached.",
      16,
    )
    .optional(),
  stsFallbackRegions: fields
    .items("sts_fallback_regions", "Their regions, equally many.", 16)
    .optional(),
  roleArn: text("role_arn", "Role that this service assumes with its identity token."),
  identityTokenAudience: text(
    "identity_token_audience",
    "Audience of its identity token; instead of access_key.",
  ),
  identityTokenTtl: seconds("identity_token_ttl", "How long the token is good; 0: an hour."),
  ...rootRotationFields,
  stsLeases: wire
    .body("sts_leases")
    .oneOf(["record", "virtual"], "Whether credentials of STS have a lease that is kept.")
    .optional(),
};

const rootOutput = out.object({
  access_key: out.string("Id of the access key; empty where none is stored."),
  region: out.string("As stored."),
  iam_endpoint: out.string("As stored."),
  sts_endpoint: out.string("As stored."),
  max_retries: out.integer("As stored; -1: as the provider's SDK does."),
  username_template: out.string("The template in use."),
  sts_region: out.string("As stored."),
  sts_fallback_endpoints: out.list(out.string("URL."), "As stored."),
  sts_fallback_regions: out.list(out.string("Region."), "As stored."),
  role_arn: out.string("As stored."),
  identity_token_audience: out.string("As stored."),
  identity_token_ttl: out.integer("Seconds; 0: an hour."),
  sts_leases: out.oneOf(["record", "virtual"], "Whether credentials of STS have a lease."),
  ...rootRotationOutput,
  root_key_created: out.nullable(out.time("When rotate-root made the key; null: it did not.")),
  credential_source: out.oneOf(
    ["config", "identity_token", "environment", "chain"],
    "Where the credentials come from that this service calls with.",
  ),
});

export const configApi = [
  endpoint({
    name: "cloudaWriteRoot",
    method: "POST",
    path: "/config/root",
    whileDisabling: true,
    summary: "Say how this service calls the provider.",
    description: "What is left out stays as it is, but for username_template. Nothing is tried.",
    access: access.capability,
    belongs: "mount",
    input: rootFields,
    output: out.nothing,
    exists: async ({ rootConfig }) => (await rootConfig.read()) !== null,
    handler: async (room, input, context) => {
      const check = (exists: boolean) => context.confirmExists(exists);
      // Not while the key is being rotated: one of the two would be lost.
      const written = await room.locks.run(ROOT_LOCK, context, () =>
        room.rootConfig.write(changeOf(input), check),
      );
      room.clients.drop();
      await room.needs.leases.retryStuck();
      const warnings = [...written.warnings, ...halfPairs(room.needs.environment)];
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "cloudaReadRoot",
    method: "GET",
    path: "/config/root",
    whileDisabling: true,
    summary: "Tell how this service calls the provider, without the secret.",
    access: access.capability,
    input: {},
    output: rootOutput,
    handler: async (room) => {
      const root = await room.rootConfig.read();
      if (root === null) throw notFound();
      return reply(showRoot(room, root), { warnings: halfPairs(room.needs.environment) });
    },
  }),
  endpoint({
    name: "cloudaRotateRoot",
    method: "POST",
    path: "/config/rotate-root",
    summary: "Replace the stored access key by a new one that only this service knows.",
    description: "The key must be the only one of its IAM user.",
    access: access.capability,
    belongs: "mount",
    input: {},
    output: out.object({ access_key: out.string("Id of the new access key.") }),
    handler: async (room, _, context) => {
      try {
        const { accessKey, warnings } = await room.rotation.rotate(context);
        return reply({ access_key: accessKey }, { warnings });
      } catch (error) {
        throw errorForCaller(error);
      }
    },
  }),
  endpoint({
    name: "cloudaCheck",
    method: "POST",
    path: "/config/check",
    whileDisabling: true,
    summary: "Find out what the credentials of this service may do, without changing anything.",
    access: access.capability,
    belongs: "local",
    input: {},
    output: out.object({
      actions: out.mapOf(
        out.oneOf(["allowed", "denied", "unknown"], "unknown: not to be tried without an effect."),
        "By the provider's name of the action.",
      ),
    }),
    handler: async (room) => {
      try {
        return { actions: await permissions(room) };
      } catch (error) {
        throw errorForCaller(error);
      }
    },
  }),
  endpoint({
    name: "cloudaWriteLease",
    method: "POST",
    path: "/config/lease",
    summary: "Say how long the leases of IAM users are.",
    access: access.capability,
    belongs: "mount",
    input: {
      lease: length("lease", "Length, such as 30m; h is the largest unit."),
      leaseMax: length("lease_max", "Length at most, renewals and all."),
    },
    output: out.nothing,
    handler: async (room, { lease, leaseMax }) => {
      await room.leaseConfig.write(lease, leaseMax);
      return undefined;
    },
  }),
  endpoint({
    name: "cloudaReadLease",
    method: "GET",
    path: "/config/lease",
    summary: "Tell how long the leases of IAM users are.",
    access: access.capability,
    input: {},
    output: out.object({
      lease: out.string("Such as 30m0s."),
      lease_max: out.string("Such as 12h0m0s."),
    }),
    handler: ({ leaseConfig }) => leaseConfig.effective(),
  }),
];

/** Without days; "" is none, as nothing is. */
function length(name: string, help: string): Field<Nanos | undefined> {
  const plain = wire.body(name).duration(help);
  return {
    ...fieldOf(plain),
    required: false,
    canonical: (input) => {
      if (input === "") return null;
      return hasDays(input) ? undefined : plain.canonical?.(input);
    },
    read: (input) =>
      input === undefined || input === null || input === ""
        ? undefined
        : readGoDuration(name, input),
  };
}

function changeOf({ secretKey, ...rest }: InputOf<typeof rootFields>): RootChange {
  return { ...rest, secretKey: secretKey?.reveal() };
}

function showRoot({ needs }: CloudA, root: StoredRoot) {
  const { usernameTemplate: own } = root;
  return {
    access_key: root.accessKey,
    region: root.region,
    iam_endpoint: root.iamEndpoint,
    sts_endpoint: root.stsEndpoint,
    max_retries: root.maxRetries,
    username_template: own === "" ? defaultTemplate(namePrefix(needs.settings)) : own,
    sts_region: root.stsRegion,
    sts_fallback_endpoints: root.stsFallbackEndpoints,
    sts_fallback_regions: root.stsFallbackRegions,
    role_arn: root.roleArn,
    identity_token_audience: root.identityTokenAudience,
    identity_token_ttl: root.identityTokenTtl,
    sts_leases: root.stsLeases,
    ...showRotation(root, root.standing),
    root_key_created: timeOrNull(root.rootKeyCreated),
    credential_source: sourceOf(root, needs.environment),
  };
}

function timeOrNull(at: number | null): string | null {
  return at === null ? null : showTime(BigInt(at) * SECOND);
}
