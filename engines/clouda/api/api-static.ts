// The endpoints of static roles and of their keys, below their mount.

import { SECOND, secondsLeft } from "@holdfast/shared/text/duration";
import type { JsonValue } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import type { Nanos } from "@holdfast/shared/world";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints, type EngineNeeds } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { Field } from "@holdfast/shared/endpoint/field";
import { withDeadline } from "../../cloud/deadline.ts";
import * as fields from "../../cloud/fields.ts";
import { scheduleFields, scheduleOutput } from "../../cloud/rotation-fields.ts";
import { errorForCaller } from "../../cloud/provider-error.ts";
import type { CloudA } from "../engine.ts";
import { checkName, listed, listing, nameField } from "./fields.ts";
import { seconds } from "./role-fields.ts";
import { dueOf } from "../keys/static-role.ts";
import type { StaticState } from "../keys/static-roles.ts";

const endpoint = engineEndpoints<CloudA>();
const DEADLINE: Nanos = 75n * SECOND; // within the time that a request has

const overlapField = seconds(
  "overlap",
  "How long other keys of the user live on beside a new one; until the next rotation unless given.",
);
/** An empty text is as if it had never been given. */
const overlap: Field<number | null | undefined> = {
  ...overlapField,
  canonical: (length) => (length === "" ? length : overlapField.canonical?.(length)),
  read: (length: JsonValue | undefined) => (length === "" ? null : overlapField.read(length)),
};

const roleOutput = out.object({
  name: out.string("Name of the static role."),
  id: out.string("The provider's id of the user."),
  username: out.string("The user whose key is rotated."),
  rotation_period: out.integer("Seconds between two rotations; 0: there is a schedule."),
  ...scheduleOutput,
  overlap: out.nullable(
    out.integer("Seconds that other keys live on beside a new one; null: until the next rotation."),
  ),
  last_rotation: out.time("When the present key was made."),
  next_rotation: out.time("When the next is to be made, or tried again."),
  last_error: out.string("Why the last try failed; empty: it did not."),
});

function showRole({ role, creds }: StaticState) {
  return reply(
    {
      name: role.name,
      id: role.id,
      username: role.username,
      rotation_period: role.rotationPeriod,
      rotation_schedule: role.rotationSchedule,
      rotation_window: role.rotationWindow,
      overlap: role.overlap ?? (role.rotationPeriod > 0 ? role.rotationPeriod : null),
      last_rotation: showTime(creds.createdAt),
      next_rotation: showTime(creds.retireAt === null ? dueOf(creds) : creds.expiration),
      last_error: creds.lastError,
    },
    { warnings: warningsOf(creds) },
  );
}

function warningsOf({ lastError, ended }: StaticState["creds"]): string[] {
  const dead =
    "the key had to make room for the next one, which is not made yet: it no longer works";
  return [
    ...(ended ? [dead] : []),
    ...(lastError === "" ? [] : [`the last rotation failed: ${lastError}`]),
  ];
}

export const staticApi = [
  endpoint({
    name: "cloudaStaticRoles",
    method: "LIST",
    path: "/static-roles",
    summary: "List the names of all static roles.",
    access: access.capability,
    input: listing,
    output: out.keys("Names in their order."),
    handler: async ({ staticRoles }, page) => ({
      keys: await listed(page, (part) => staticRoles.names(part)),
    }),
  }),
  endpoint({
    name: "cloudaReadStaticRole",
    method: "GET",
    path: "/static-roles/:name",
    summary: "Tell about a static role.",
    access: access.capability,
    input: { name: nameField },
    output: roleOutput,
    handler: async ({ staticRoles }, { name }) => showRole(await staticRoles.read(checkName(name))),
  }),
  endpoint({
    name: "cloudaWriteStaticRole",
    method: "POST",
    path: "/static-roles/:name",
    summary: "Adopt a user of the provider and make its key, or change when it is rotated.",
    description:
      "A user with two keys loses the older one. A new rotation_period counts from now; no key is made. rotation_schedule stands in its place.",
    access: access.capability,
    belongs: "mount",
    input: {
      name: nameField,
      username: fields.text("username", "An existing user.", "body", 128).optional(),
      rotationPeriod: seconds(
        "rotation_period",
        "Time between two rotations; at least 60 seconds.",
      ),
      ...scheduleFields,
      overlap,
    },
    output: roleOutput,
    handler: ({ staticRoles, needs }, { name, ...change }, request) =>
      finished(needs, async (signal) =>
        showRole(await staticRoles.write(checkName(name), change, { request, signal })),
      ),
  }),
  endpoint({
    name: "cloudaDeleteStaticRole",
    method: "DELETE",
    path: "/static-roles/:name",
    summary: "Delete a static role and the keys made for it. The user stays.",
    access: access.capability,
    belongs: "mount",
    input: {
      name: nameField,
      force: fields
        .flag("force", "Leave the keys at the provider as they are, without asking it.")
        .default(false),
    },
    output: out.nothing,
    handler: ({ staticRoles, needs }, { name, force }, request) =>
      finished(needs, async (signal) => {
        await staticRoles.delete(checkName(name), { force }, { request, signal });
        return undefined;
      }),
  }),
  endpoint({
    name: "cloudaRotateStaticRole",
    method: "POST",
    path: "/static-roles/:name/rotate",
    summary: "Make a new key for a static role now.",
    access: access.capability,
    belongs: "mount",
    input: { name: nameField },
    output: roleOutput,
    handler: ({ staticRoles, needs }, { name }, request) =>
      finished(needs, async (signal) =>
        showRole(await staticRoles.rotate(checkName(name), { request, signal })),
      ),
  }),
  endpoint({
    name: "cloudaReadStaticCreds",
    method: "GET",
    path: "/static-creds/:name",
    summary: "Give the present key of a static role. It has no lease.",
    access: access.capability,
    input: { name: nameField },
    output: out.object({
      access_key: out.string("Id of the key."),
      secret_key: out.secret("The key."),
      expiration: out.time("When it is to be replaced."),
      ttl: out.integer("Seconds until then."),
      rotation_period: out.integer("Seconds between two rotations; 0: there is a schedule."),
      ...scheduleOutput,
      last_rotation: out.time("When it was made."),
    }),
    handler: async ({ staticRoles, needs: { clock } }, { name }) => {
      const { role, creds } = await staticRoles.read(checkName(name));
      const data = {
        access_key: creds.accessKey,
        secret_key: creds.secretKey,
        expiration: showTime(creds.expiration),
        ttl: secondsLeft(creds.expiration - clock.now()),
        rotation_period: role.rotationPeriod,
        rotation_schedule: role.rotationSchedule,
        rotation_window: role.rotationWindow,
        last_rotation: showTime(creds.createdAt),
      };
      return reply(data, { warnings: warningsOf(creds) });
    },
  }),
];

/** Not cut off where the client hangs up: what was begun outside is brought to its end. */
async function finished<T>(
  { timers }: EngineNeeds,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  try {
    return await withDeadline(timers, DEADLINE, run);
  } catch (error) {
    throw errorForCaller(error);
  }
}
