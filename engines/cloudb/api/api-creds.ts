// The endpoint that gives credentials.

import { MINUTE } from "@holdfast/shared/text/duration";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import type { CloudB } from "../engine.ts";
import { nameField, toggle } from "./fields.ts";

const endpoint = engineEndpoints<CloudB>();

const NOT_VERIFIED =
  "the credentials could not be proved in time: they may need some more minutes until they work";

export const credsApi = [
  endpoint({
    name: "cloudbReadCreds",
    method: "GET",
    path: "/creds/:name",
    summary: "Give credentials of a role, with a lease.",
    access: access.capability,
    belongs: "local", // leases are; what the mount shares is read
    runs: "active",
    issues: true,
    input: {
      name: nameField,
      verify: toggle(
        "verify",
        "Whether to wait until the provider takes them, some minutes at most.",
        "query",
      ).default(false),
    },
    output: out.object({
      client_id: out.string("What to log in as."),
      client_secret: out.secret("Its secret."),
      tenant_id: out.string("Where to log in."),
      subscription_id: out.string("What it has rights in."),
      verified: out.optional(
        out.boolean("Whether the provider has taken them three times in a row."),
      ),
    }),
    handler: async ({ issuing }, { name, verify }, context) => {
      context.allow(3n * MINUTE);
      const issued = await issuing.issue(name, { verify, request: context });
      const { verified, lease } = issued;
      return reply(
        {
          client_id: issued.clientId,
          client_secret: issued.clientSecret,
          tenant_id: issued.tenantId,
          subscription_id: issued.subscriptionId,
          ...(verified === undefined ? {} : { verified }),
        },
        { lease, warnings: verified === false ? [NOT_VERIFIED] : [] },
      );
    },
  }),
];
