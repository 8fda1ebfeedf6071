// Endpoints that give credentials: `creds` and `sts`, which differ for legacy roles only.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import type { EngineRequest } from "@holdfast/shared/endpoint/request";
import type { InputOf } from "@holdfast/shared/endpoint/field";
import { wire } from "@holdfast/shared/endpoint/wire";
import * as fields from "../../cloud/fields.ts";
import { errorForCaller } from "../../cloud/provider-error.ts";
import type { CloudA } from "../engine.ts";
import { checkName, nameField } from "./fields.ts";

const endpoint = engineEndpoints<CloudA>();

/** A user may take 70 s to be made, and then 30 s to be proved or 60 s to be undone. */
const LONGEST: Nanos = 140n * SECOND;

const ttl = wire.param("ttl").duration("How long credentials of STS live.").optionalUnlessEmpty();

const input = {
  name: nameField,
  roleArn: fields
    .text("role_arn", "Which role to assume; needed where the role allows several.", "param", 2048)
    .default(""),
  sessionName: fields
    .text(
      "role_session_name",
      "Name of the session of an assumed role; a generated one by itself.",
      "param",
      1024,
    )
    .default(""),
  ttl,
  verify: fields
    .toggle(
      "verify",
      "Whether to wait until the provider accepts a new user's key. That it does so for one call " +
        "does not prove that all its services do.",
      "param",
    )
    .default(false),
};

const output = out.object({
  access_key: out.string("Id of the access key. Not a secret."),
  secret_key: out.secret("The secret access key."),
  session_token: out.nullable(out.secret("Of credentials of STS.")),
  security_token: out.nullable(out.secret("The same, by its older name.")),
  username: out.optional(out.string("Of the IAM user that was made.")),
  arn: out.optional(out.string("Of the assumed role or federated user.")),
  ttl: out.optional(out.integer("Seconds until the credentials end by themselves.")),
  verified: out.optional(
    out.boolean("Whether the provider accepted the key, where that was asked."),
  ),
});

async function issue(
  room: CloudA,
  values: InputOf<typeof input>,
  path: "creds" | "sts",
  context: EngineRequest,
) {
  const { name, roleArn, sessionName, ttl = null, verify } = values;
  const { caller } = context;
  context.allow(LONGEST);
  checkName(name);
  try {
    return await room.credentials.issue({ name, path, roleArn, sessionName, ttl, verify, caller });
  } catch (error) {
    throw errorForCaller(error);
  }
}

const about = {
  access: access.capability,
  belongs: "local" as const, // leases are; what the mount shares is read
  runs: "active" as const,
  issues: true,
  input,
  output,
};

export const credsApi = [
  endpoint({
    ...about,
    name: "cloudaReadCreds",
    method: "GET",
    path: "/creds/:name",
    summary: "Make credentials for a role.",
    handler: (room, values, context) => issue(room, values, "creds", context),
  }),
  endpoint({
    ...about,
    name: "cloudaWriteCreds",
    method: "POST",
    path: "/creds/:name",
    summary: "Make credentials for a role.",
    handler: (room, values, context) => issue(room, values, "creds", context),
  }),
  endpoint({
    ...about,
    name: "cloudaReadSts",
    method: "GET",
    path: "/sts/:name",
    summary: "Make credentials for a role; of a legacy role, those of STS.",
    handler: (room, values, context) => issue(room, values, "sts", context),
  }),
  endpoint({
    ...about,
    name: "cloudaWriteSts",
    method: "POST",
    path: "/sts/:name",
    summary: "Make credentials for a role; of a legacy role, those of STS.",
    handler: (room, values, context) => issue(room, values, "sts", context),
  }),
];
