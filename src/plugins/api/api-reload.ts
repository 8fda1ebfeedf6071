// The endpoints by which what runs of plugins is started anew.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type OutputOf } from "@holdfast/shared/endpoint/output";
import { type Reply, reply } from "@holdfast/shared/endpoint/reply";
import type { RequestContext } from "@holdfast/shared/endpoint/request";
import { showTime } from "@holdfast/shared/text/time";
import { wire } from "@holdfast/shared/endpoint/wire";
import { reloadUnclear } from "../catalog/failures.ts";
import type { ReloadOrder } from "../reload/reload-rows.ts";
import { type Reloads, failureLine } from "../reload/reloads.ts";

export interface ReloadsHere {
  readonly reloads: Reloads;
  /** Name of this node. */
  readonly node: string;
}

const endpoint = endpointsOf<ReloadsHere>();

const MAX_MOUNTS = 1000;
const EVERYWHERE = "global";
const UNKNOWN = "unknown";
const KINDS = ["auth", "database", "secret", UNKNOWN] as const;
const ANSWERED =
  "The answer comes when each has been tried: what cannot be started anew goes on as it was, and a warning says so, or a " +
  'refusal where that is all of them. With scope "global" it comes at once (202), and every cluster that has the same data ' +
  "does it when it sees the order.";

const scope = wire
  .body("scope")
  .oneOf(["", EVERYWHERE], "Empty: in this cluster; global: in all that share its data")
  .default("");

const mounts = out.list(
  out.object({
    path: out.string("Path from the root namespace on"),
    error: out.string("Why it runs as before; empty: it was reloaded"),
  }),
  "What was reloaded in this cluster",
);

const ordered = out.object({
  reload_id: out.string("By which its status is read"),
  mounts: out.optional(mounts),
});

/** An order for all clusters is a record of theirs. */
function belongs(_: ReloadsHere, input: { readonly scope: string }): "shared" | "local" {
  return input.scope === EVERYWHERE ? "shared" : "local";
}

export const pluginReloadApi = [
  endpoint({
    name: "reloadPlugin",
    method: "POST",
    path: "/sys/plugins/reload/:type/:name",
    summary: "Start anew whatever runs a plugin",
    description: ANSWERED,
    access: access.capability,
    belongs,
    rootOnly: true,
    later: true,
    input: {
      type: wire.path("type").oneOf(KINDS, `Kind of plugin; ${UNKNOWN}: any`),
      name: wire.path("name").string("Name of the plugin"),
      scope,
    },
    output: ordered,
    handler: (here, { type, name, scope: where }, context) =>
      reload(here, { name, type: type === UNKNOWN ? null : type }, where, context),
  }),

  endpoint({
    name: "reloadPluginMounts",
    method: "POST",
    path: "/sys/plugins/reload/backend",
    summary: "Start anew whatever runs a plugin, or is mounted at some paths",
    description: ANSWERED,
    access: access.capability,
    belongs,
    rootOnly: true,
    later: true,
    input: {
      plugin: wire.body("plugin").string("Name of a plugin, of any kind").default(""),
      mounts: wire
        .body("mounts")
        .list("Paths of mounts from the root namespace on, such as team/kv/ or auth/people/", {
          max: MAX_MOUNTS,
        })
        .default([]),
      scope,
    },
    output: ordered,
    handler(here, { plugin, mounts: paths, scope: where }, context) {
      if ((plugin === "") === (paths.length === 0)) throw reloadUnclear();
      const order =
        plugin === "" ? { places: [...new Set(paths.map(placeOf))] } : { name: plugin, type: null };
      return reload(here, order, where, context);
    },
  }),

  endpoint({
    name: "readPluginReload",
    method: "GET",
    path: "/sys/plugins/reload/backend/status",
    summary: "Read what became of a reload in this cluster",
    description:
      "Remembered for a day. Without results: it was ordered, and was not done here yet.",
    access: access.capability,
    rootOnly: true,
    input: { id: wire.query("reload_id").string("Of the answer to the reload", { max: 128 }) },
    output: out.object({
      reload_id: out.string("Of the reload"),
      results: out.mapOf(
        out.object({
          timestamp: out.time("When it was done"),
          error: out.string("What failed; empty: nothing"),
          mounts,
        }),
        "By the name of the node that was asked",
      ),
    }),
    handler({ reloads, node }, { id }) {
      const found = reloads.status(id);
      if (found === "waits") return { reload_id: id, results: {} };
      const errors = found.mounts.filter(({ error }) => error !== "").map(failureLine);
      const result = {
        timestamp: showTime(found.time),
        error: errors.join("; "),
        mounts: pathsOf(found.mounts),
      };
      return { reload_id: id, results: { [node]: result } };
    },
  }),
];

async function reload(
  { reloads }: ReloadsHere,
  order: ReloadOrder,
  where: string,
  { id, signal }: RequestContext,
): Promise<Reply<OutputOf<typeof ordered>>> {
  if (where === EVERYWHERE) {
    await reloads.everywhere(id, order);
    return reply({ reload_id: id }, { status: 202 });
  }
  const done = await reloads.now(id, order, signal);
  const errors = done.filter(({ error }) => error !== "").map(failureLine);
  const nothing = done.length === 0 ? ["no plugins were reloaded"] : [];
  return reply({ reload_id: id, mounts: pathsOf(done) }, { warnings: [...nothing, ...errors] });
}

function pathsOf(done: readonly { readonly place: string; readonly error: string }[]) {
  return done.map(({ place, error }) => ({ path: place, error }));
}

/** As it is written by people: with or without slashes at its ends, and in the form of older clients. */
function placeOf(path: string): string {
  const bare = path.replace(/^\/+|\/+$/g, "");
  return `${bare.startsWith("sys/auth/") ? bare.slice("sys/".length) : bare}/`;
}
