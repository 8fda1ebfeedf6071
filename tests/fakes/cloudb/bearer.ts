// Who calls Graph or ARM: by the token that came along, which must be for that API and still hold.

import type { AccessToken } from "./access-tokens.ts";
import type { Surface } from "./model.ts";
import { Refusal } from "./refusal.ts";
import type { Tenant } from "./tenant.ts";

const CODES = {
  graph: {
    absent: "InvalidAuthenticationToken",
    expired: "InvalidAuthenticationToken",
    audience: "InvalidAuthenticationToken",
  },
  arm: {
    absent: "AuthenticationFailed",
    expired: "ExpiredAuthenticationToken",
    audience: "InvalidAuthenticationTokenAudience",
  },
} as const;

export function bearerOf(
  tenant: Tenant,
  surface: Exclude<Surface, "authority">,
  authorization: string | undefined,
): AccessToken {
  const refuse = (why: keyof (typeof CODES)["arm"], text: string) =>
    new Refusal(401, CODES[surface][why], text, { headers: { "www-authenticate": "Bearer" } });
  const [, text = ""] = /^Bearer (.+)$/.exec(authorization ?? "") ?? [];
  if (text === "") throw refuse("absent", "Access token is empty.");
  const token = tenant.tokens.find(text);
  if (token === null) throw refuse("absent", "Access token validation failure.");
  if (tenant.tokens.expired(token)) {
    throw refuse("expired", "Lifetime validation failed, the token is expired.");
  }
  if (token.audience !== tenant.settings.knownAs[surface]) {
    throw refuse("audience", "Access token validation failure. Invalid audience.");
  }
  return token;
}
