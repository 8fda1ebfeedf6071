// What others than administrators see of mounts, and moving one.

import { withoutSlashes } from "@holdfast/shared/text/slashes";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import { mountWithPath, showMount } from "./api-mount-view.ts";
import type { MountSight } from "./mount-sight.ts";

const endpoint = endpointsOf<MountSight>();

export const mountViewsApi = [
  endpoint({
    name: "listVisibleMounts",
    method: "GET",
    path: "/sys/internal/ui/mounts",
    summary: "List the mounts that the caller may see.",
    description: "Without a token those that are open to everybody, with one also those in reach.",
    access: access.openWithCaller,
    input: {},
    output: out.object({
      secret: out.mapOf(out.anyObject("A mount."), "Secret engines by path."),
      auth: out.mapOf(out.anyObject("A mount."), "Auth methods by path."),
    }),
    handler: (sight, _, { caller, namespace }) => sight.visible(caller, namespace),
  }),
  endpoint({
    name: "readServingMount",
    method: "GET",
    path: "/sys/internal/ui/mounts/:path+",
    summary: "Read which mount serves a path.",
    access: access.token,
    input: { path: wire.path("path").string("Any path.") },
    output: mountWithPath,
    handler: async (sight, { path }, { caller, namespace }) => {
      const view = await sight.serving(caller, namespace, path);
      return { ...showMount(view), path: view.record.path };
    },
  }),
  endpoint({
    name: "moveMount",
    method: "POST",
    path: "/sys/remount",
    summary: "Move a mount to another path.",
    description:
      "In the background; its leases are revoked. Paths may lead into namespaces below that of the " +
      "request, where the same right to sys/remount is needed as well.",
    access: access.sudo,
    belongs: (sight, { from }, { namespace }) => sight.belongs(namespace, from),
    places: ({ from, to }) => [from, to],
    input: {
      from: wire.body("from").string("Path of the mount.", { form: withoutSlashes }),
      to: wire.body("to").string("Where it is to be.", { form: withoutSlashes }),
    },
    output: out.object({ migration_id: out.string("Asks for its status.") }),
    handler: async (sight, { from, to }, context) => ({
      migration_id: await sight.move(context, from, to),
    }),
  }),
  endpoint({
    name: "readMountMove",
    method: "GET",
    path: "/sys/remount/status/:id",
    summary: "Read how the move of a mount goes.",
    access: access.capability,
    belongs: (sight, { id }) => sight.moveBelongs(id),
    input: { id: wire.path("id").string("Id of the move.") },
    output: out.object({
      migration_id: out.string("Id of the move."),
      migration_info: out.object({
        source_mount: out.string("Where it was."),
        target_mount: out.string("Where it is to be."),
        status: out.oneOf(["in-progress", "success", "failure"], "How it goes."),
        error: out.optional(out.string("Why it failed.")),
      }),
    }),
    handler: (sight, { id }, { namespace }) => {
      const { source, target, status, error } = sight.moveOf(namespace, id);
      const info = { source_mount: source, target_mount: target, status };
      return {
        migration_id: id,
        migration_info: error === "" ? info : { ...info, error },
      };
    },
  }),
];
