// The endpoints of response wrapping. A wrapping token comes as the credential of the
// request, or in its body beside the credential of somebody who may unwrap.

import { foldedUuid } from "@holdfast/shared/text/uuid";
import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out, type Output } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { ttlMissing } from "./failures.ts";
import type { Unwrapped } from "./wrapped-answer.ts";
import type { Wrapping } from "./wrapping.ts";

const endpoint = endpointsOf<Wrapping>();

const MAX_TOKEN = 8192; // as in a header

const token = wire
  .body("token")
  .secret("The wrapping token, unless it is the credential of the request itself.", {
    max: MAX_TOKEN,
    form: foldedUuid,
  })
  .optional();

const original: Output<Unwrapped> = out.anyObject(
  "What was wrapped: data, and in the envelope the lease or the token that came with it.",
);

export const wrappingApi = [
  endpoint({
    name: "wrapData",
    method: "POST",
    path: "/sys/wrapping/wrap",
    summary: "Wrap the body of this request.",
    description: "The header X-Service-Wrap-TTL says for how long, from 1s to max_lease_ttl.",
    access: access.capability,
    belongs: "local",
    input: { data: wire.whole("data", "What is to be handed over.") },
    output: out.anyObject("Nothing: the answer itself is wrapped, and wrap_info stands for it."),
    handler: (_wrapping, { data }, { wrapTtl }) => {
      if (wrapTtl === null) throw ttlMissing();
      return data; // wrapped on its way out, as every answer is
    },
  }),
  endpoint({
    name: "lookUpWrapping",
    method: "POST",
    path: "/sys/wrapping/lookup",
    summary: "What a wrapping token is, without using it up.",
    access: access.openWithCaller,
    belongs: "local",
    unwraps: true,
    input: { token },
    output: out.object({
      creation_time: out.time("When it was made."),
      creation_ttl: out.integer("Seconds that it was made for."),
      creation_path: out.string("The request whose answer it holds, from the root namespace."),
    }),
    handler: (wrapping, { token: named }, context) => {
      const { created, ttl, path } = wrapping.lookup(context, named);
      return {
        creation_time: showTime(created),
        creation_ttl: Number(ttl / SECOND),
        creation_path: path,
      };
    },
  }),
  endpoint({
    name: "unwrap",
    method: "POST",
    path: "/sys/wrapping/unwrap",
    summary: "The answer that a wrapping token holds; it works once.",
    access: access.capability,
    belongs: "local",
    unwraps: true,
    input: { token },
    output: original,
    handler: (wrapping, { token: named }, context) => wrapping.unwrap(context, named),
  }),
  endpoint({
    name: "rewrap",
    method: "POST",
    path: "/sys/wrapping/rewrap",
    summary: "The same answer behind a new wrapping token; the old one is used up.",
    access: access.capability,
    belongs: "local",
    unwraps: true,
    input: { token },
    output: out.nothing,
    handler: async (wrapping, { token: named }, context) =>
      reply(undefined, await wrapping.rewrap(context, named)),
  }),
  endpoint({
    name: "readWrappingKey",
    method: "GET",
    path: "/sys/wrapping/pubkey",
    summary: "The key that wrapping tokens in the form of a JWT are signed with.",
    access: access.openWithCaller,
    input: {},
    output: out.object({
      public_key: out.string("In PEM."),
      jwt_x: out.string("First half of the public point, as a decimal number."),
      jwt_y: out.string("Second half."),
      jwt_curve: out.oneOf(["p521"], "The curve."),
      jwk: out.object({
        kty: out.oneOf(["EC"], "Kind of key."),
        crv: out.oneOf(["P-521"], "The curve."),
        alg: out.oneOf(["ES512"], "What it signs with."),
        use: out.oneOf(["sig"], "What it is for."),
        x: out.string("First half, in base64url."),
        y: out.string("Second half."),
      }),
    }),
    handler: (wrapping) => {
      const { point, pem } = wrapping.publicKey;
      const { x, y } = point;
      return {
        public_key: pem,
        jwt_x: decimal(x),
        jwt_y: decimal(y),
        jwt_curve: "p521" as const,
        jwk: { kty: "EC", crv: "P-521", alg: "ES512", use: "sig", x, y } as const,
      };
    },
  }),
];

/** As clients read it that know no JWK. */
function decimal(half: string): string {
  return BigInt(`0x${Buffer.from(half, "base64url").toString("hex")}`).toString();
}
