// The endpoints of the account that this mount works with, and of the rotation of its secret.

import { environmentName } from "../provider/environments.ts";
import { MINUTE } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { access } from "@holdfast/shared/endpoint/access";
import { engineEndpoints } from "@holdfast/plugin-sdk/engine";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import {
  rootRotationFields,
  rootRotationOutput,
  showRotation,
} from "../../cloud/rotation-fields.ts";
import { NO_CONFIG } from "../rotation/config.ts";
import type { CloudB } from "../engine.ts";
import { seconds } from "../../cloud/fields.ts";
import { regions } from "../../cloud/leases-elsewhere.ts";
import { text } from "./fields.ts";

const endpoint = engineEndpoints<CloudB>();
const MAX_SECRET = 4096;

/** The provider's ids have no case. */
const lower = (id: string) => id.toLowerCase();

export const configApi = [
  endpoint({
    name: "cloudbWriteConfig",
    method: "POST",
    path: "/config",
    whileDisabling: true,
    summary: "Say with which account of the provider this mount works.",
    description:
      "What is left out stays as it is. Variables of the server's environment win over it.",
    access: access.capability,
    belongs: "mount",
    input: {
      subscriptionId: text("subscription_id", "The subscription.", { show: lower }).optional(),
      tenantId: text("tenant_id", "The tenant.", { show: lower }).optional(),
      clientId: text("client_id", "The application that this mount works as.", {
        show: lower,
      }).optional(),
      clientSecret: wire
        .body("client_secret")
        .secret("Its secret; never shown again. Excludes identity_token_audience.", {
          max: MAX_SECRET,
        })
        .optional(),
      audience: text(
        "identity_token_audience",
        "For whom proofs of this mount's identity are made, instead of a secret.",
      ).optional(),
      identityTtl: seconds(
        "identity_token_ttl",
        "How long such a proof is good; 0: an hour.",
      ).optional(),
      environment: text(
        "environment",
        "CloudBPublicCloud, CloudBUSGovernmentCloud or CloudBChinaCloud; empty: the public one.",
        { show: environmentName, caseless: true },
      ).optional(),
      passwordTtl: seconds(
        "root_password_ttl",
        "How long a secret lasts that rotate-root makes; 0: 182 days.",
      ).optional(),
      ...rootRotationFields,
    },
    output: out.nothing,
    exists: async ({ config }) => (await config.stored()) !== null,
    handler: async ({ config, connections, needs }, { clientSecret, ...change }, context) => {
      const written = { ...change, clientSecret: clientSecret?.reveal() };
      await config.write(written, (exists) => context.confirmExists(exists));
      connections.drop(); // also where nothing has changed here: perhaps something has at the provider
      // What could not be revoked with the old account perhaps can with this one.
      await needs.leases.retryStuck();
      return undefined;
    },
  }),
  endpoint({
    name: "cloudbReadConfig",
    method: "GET",
    path: "/config",
    whileDisabling: true,
    summary: "Tell with which account of the provider this mount works, without its secret.",
    access: access.capability,
    input: {},
    output: out.object({
      subscription_id: out.string("The subscription."),
      tenant_id: out.string("The tenant."),
      client_id: out.string("The application that this mount works as."),
      environment: out.string("The cloud; empty: the public one."),
      root_password_ttl: out.integer("Seconds that a secret lasts which rotate-root makes."),
      identity_token_audience: out.string("For whom proofs of identity are made; empty: none are."),
      identity_token_ttl: out.integer("Seconds that such a proof is good."),
      root_password_expiration_date: out.optional(
        out.time("When the secret ends that the last rotation has made."),
      ),
      root_rotation: out.oneOf(
        ["none", "pending", "failing"],
        "Whether a new secret is being proved, or the last one never worked.",
      ),
      ...rootRotationOutput,
      environment_overrides: out.list(
        out.string("Name of a field."),
        "What the server's environment decides, whatever is stored.",
      ),
    }),
    handler: async ({ config, rotation }) => {
      const stored = (await config.stored()) ?? NO_CONFIG;
      return {
        subscription_id: stored.subscriptionId,
        tenant_id: stored.tenantId,
        client_id: stored.clientId,
        environment: stored.environment,
        root_password_ttl: stored.passwordTtl,
        identity_token_audience: stored.audience,
        identity_token_ttl: stored.identityTtl,
        ...(stored.passwordEnds === null
          ? {}
          : { root_password_expiration_date: showTime(BigInt(stored.passwordEnds)) }),
        root_rotation: await rotation.state(),
        ...showRotation(stored, stored.standing),
        environment_overrides: config.overrides(),
      };
    },
  }),
  endpoint({
    name: "cloudbDeleteConfig",
    method: "DELETE",
    path: "/config",
    summary: "Forget the account and its secret.",
    access: access.capability,
    belongs: "mount",
    input: {},
    output: out.nothing,
    handler: async ({ config, connections, needs, roleStore }) => {
      await config.delete();
      connections.drop();
      const elsewhere = await needs.leases.elsewhere("creds", { revoke: false });
      const leases = elsewhere.count + (await needs.leases.count("creds"));
      const applications = (await roleStore.managing()).length;
      const left = [
        ...(leases > 0 ? [`${leases} leases`] : []),
        ...(applications > 0 ? [`${applications} applications of roles`] : []),
      ];
      const remain = `${left.join(" and ")} remain, and cannot be cleaned up without a configuration`;
      const unknown = `${regions(elsewhere.silent)} not answered, and may have leases that cannot be cleaned up either`;
      const warnings = [
        ...(left.length > 0 ? [remain] : []),
        ...(elsewhere.silent > 0 ? [unknown] : []),
      ];
      return warnings.length === 0 ? undefined : reply(undefined, { warnings });
    },
  }),
  endpoint({
    name: "cloudbRotateRoot",
    method: "POST",
    path: "/rotate-root",
    summary: "Give the account another secret, which nobody but the server knows.",
    description:
      "The new secret is proved for some minutes before it is used; the old one works meanwhile, and is then removed.",
    access: access.capability,
    belongs: "mount",
    input: {},
    output: out.nothing,
    handler: async ({ rotation }, _, context) => {
      context.allow(3n * MINUTE);
      await rotation.rotate(context);
      return undefined;
    },
  }),
];
