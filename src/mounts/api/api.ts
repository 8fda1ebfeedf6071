// The endpoints of mounts: the same for secret engines below sys/mounts and
// for auth methods below sys/auth, where changes need `sudo`.

import { SECOND } from "@holdfast/shared/text/duration";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type Output } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { mountOutput, showMount, showTuning, tuningOutput } from "./api-mount-view.ts";
import { CONFIG_FIELDS, configField, readConfig } from "./config-fields.ts";
import type { MountKind } from "../table/mount-record.ts";
import type { Mounts } from "../mounts.ts";
import { withPresentType } from "../table/type-aliases.ts";

const endpoint = endpointsOf<Mounts>();

const WAIT = 60n * SECOND; // then it goes on in the background, and the answer says so
const SEAL_WRAP = "seal_wrap has no effect: there is no second seal around single entries";
const ENTROPY =
  "external_entropy_access has no effect: random bytes are those of the operating system";
const ROOM_FOR_WAIT = 75n * SECOND;

const disabling: Output<{ readonly state: "disabling"; readonly leases_left: number } | undefined> =
  out.object({
    state: out.oneOf(["disabling"], "It goes on, also after a restart."),
    leases_left: out.integer("Leases still to be revoked."),
  });

const TUNING_HELP =
  "What is not given stays. Lifetimes hold for leases that are issued or renewed afterwards; " +
  "`system` or 0 is the server's own.";

interface Words {
  readonly kind: MountKind;
  /** In the names of the endpoints. */
  readonly word: "Mount" | "AuthMethod";
  readonly noun: string;
  readonly base: string;
}

const SECRET: Words = {
  kind: "secret",
  word: "Mount",
  noun: "secret engine",
  base: "/sys/mounts",
};
const AUTH: Words = { kind: "auth", word: "AuthMethod", noun: "auth method", base: "/sys/auth" };

const beside = {
  description: wire.body("description").string("What operators note.", { max: 1024 }).optional(),
  options: wire.body("options").texts("Options of its type.").optional(),
  version: wire.body("plugin_version").string("Version of its type.").optional(),
};

function mountEndpoints({ kind, word, noun, base }: Words) {
  const path = wire.path("path").string("Path of the mount.");
  const places = placesOf(kind);
  const changes = kind === "auth" ? access.sudo : access.capability;
  return [
    endpoint({
      name: `list${word}s`,
      method: "GET",
      path: base,
      summary: `List the ${noun}s of the namespace.`,
      access: access.capability,
      input: {},
      output: out.mapOf(mountOutput, "By path, each with a slash at its end."),
      handler: (mounts, _, { namespace }) => {
        const all = mounts.list(namespace, kind);
        const start = kind === "auth" ? "auth/".length : 0;
        return Object.fromEntries(
          all.map((view) => [view.record.path.slice(start), showMount(view)]),
        );
      },
    }),
    endpoint({
      name: `enable${word}`,
      method: "POST",
      path: `${base}/:path+`,
      summary: `Mount a ${noun}.`.replace("a auth", "an auth"),
      description:
        "A path may have several parts; it may not be inside another mount, contain one, or be a " +
        "namespace.",
      access: changes,
      belongs: (_, { local }) => (local === true ? "local" : "shared"),
      input: {
        path,
        type: wire.body("type").string("Type of the engine: one that is built in, or a plugin."),
        pluginName: wire
          .body("plugin_name")
          .string('Name of a plugin, where type is "plugin": older clients say it so.', {
            max: 128,
          })
          .optional(),
        description: beside.description,
        config: configField(kind),
        options: beside.options,
        local: wire.body("local").boolean("Keep it out of performance replication.").optional(),
        sealWrap: wire
          .body("seal_wrap")
          .boolean("Kept for older clients, without effect: the barrier encrypts everything.")
          .optional(),
        entropy: wire
          .body("external_entropy_access")
          .boolean("Kept for older clients, without effect: there is no other source.")
          .optional(),
        version: beside.version,
      },
      output: out.nothing,
      implied: withPresentType,
      exists: (mounts, params, { namespace }) => mounts.has(namespace, kind, params["path"] ?? ""),
      handler: async (mounts, { config = {}, version, ...input }, context) => {
        const read = readConfig(kind, config);
        const { pluginName = read.pluginName, ...rest } = input;
        const type = input.type === "plugin" ? (pluginName ?? input.type) : input.type;
        const wanted = version ?? read.version;
        const mount = { ...rest, type, kind, config: read.change, version: wanted };
        await mounts.enable(context.namespace, mount, (exists) => context.confirmExists(exists));
        const warnings: string[] = [];
        if (input.sealWrap === true) warnings.push(SEAL_WRAP);
        if (input.entropy === true) warnings.push(ENTROPY);
        return reply(undefined, { warnings });
      },
    }),
    endpoint({
      name: `read${word}`,
      method: "GET",
      path: `${base}/:path+`,
      summary: `Read what is mounted at a path.`,
      access: access.capability,
      input: { path },
      output: mountOutput,
      handler: (mounts, input, { namespace }) =>
        showMount(mounts.read(namespace, kind, input.path)),
    }),
    endpoint({
      name: `disable${word}`,
      method: "DELETE",
      path: `${base}/:path+`,
      summary: `Disable a ${noun} and remove everything in it.`.replace("a auth", "an auth"),
      description:
        "No request reaches it from then on; what it has made outside is undone and revoked, then " +
        "its storage is wiped. 204 when that is done, 202 while it goes on; what cannot be revoked " +
        "stops it, and asking again goes on.",
      access: changes,
      belongs: (mounts, input, { namespace }) => mounts.belongs(namespace, kind, input.path),
      places,
      input: {
        path,
        abandon: wire
          .query("abandon")
          .boolean("Leave behind what it made outside without leases, and what nobody can remove.")
          .default(false),
        wait: wire
          .query("wait")
          .duration("How long to wait for it.", { max: WAIT })
          .default(WAIT, "60s"),
      },
      output: disabling,
      later: true,
      handler: async (mounts, input, context) => {
        const { abandon, wait } = input;
        context.allow(ROOM_FOR_WAIT);
        const left = await mounts.disable(context.namespace, kind, input.path, { abandon, wait });
        if (left === null) return reply(undefined);
        const { warnings, leasesLeft, done } = left;
        if (done) return reply(undefined, { warnings });
        const data = { state: "disabling", leases_left: leasesLeft } as const;
        return reply(data, { status: 202, warnings });
      },
    }),
    ...tuneEndpoints({ kind, word, noun, base }, changes, ""),
  ];
}

function placesOf(kind: MountKind): (input: { readonly path: string }) => readonly string[] {
  return ({ path }) => [kind === "auth" ? `auth/${path}` : path];
}

function tuneEndpoints(
  { kind, word, noun, base }: Words,
  who: typeof access.sudo | typeof access.capability,
  suffix: string,
) {
  const path = wire.path("path").string("Path of the mount.");
  return [
    endpoint({
      name: `read${word}Tuning${suffix}`,
      method: "GET",
      path: `${base}/:path+/tune`,
      summary: `Read what holds for a ${noun}.`.replace("a auth", "an auth"),
      access: who,
      input: { path },
      output: tuningOutput,
      handler: (mounts, input, { namespace }) =>
        showTuning(mounts.read(namespace, kind, input.path), mounts.ttls),
    }),
    endpoint({
      name: `tune${word}${suffix}`,
      method: "POST",
      path: `${base}/:path+/tune`,
      summary: `Tune a ${noun}.`.replace("a auth", "an auth"),
      description: TUNING_HELP,
      access: who,
      belongs: (mounts, input, { namespace }) => mounts.belongs(namespace, kind, input.path),
      places: placesOf(kind),
      input: { path, ...CONFIG_FIELDS[kind], ...beside },
      output: out.nothing,
      handler: async (mounts, input, { namespace }) => {
        const { path: at, description, options, version, ...config } = input;
        const change = { description, options, version, config };
        await mounts.tune(namespace, kind, at, change);
        return undefined;
      },
    }),
  ];
}

export const mountsApi = [
  ...mountEndpoints(SECRET),
  ...mountEndpoints(AUTH),
  // The same without `sudo`.
  ...tuneEndpoints({ ...AUTH, base: "/sys/mounts/auth" }, access.capability, "AsMount"),
];
