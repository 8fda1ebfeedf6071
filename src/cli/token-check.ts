// Whether the server knows a token, found out by a read that changes nothing. The first of these
// endpoints that the server has decides; the route is looked up before the token, so that 404 says
// nothing about the token.

import { isObject } from "@holdfast/shared/json/json";
import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import { governedDenial } from "./policy-advice.ts";

const SELF = "acl/token/self";
const READS = ["auth/token/lookup-self", SELF, "sys/internal/ui/resultant-acl", "sys/key-status"];

const VIEW_NAMES = ["display_name", "expire_time"] as const;

export interface TokenCheck {
  /** Null: no endpoint could tell. */
  readonly valid: boolean | null;
  /** Whether the server let it look at itself, or a governing policy alone forbade it. */
  readonly readable: boolean;
  /** What was read. */
  readonly by: string;
  /** As far as the server tells it; empty otherwise. */
  readonly name: string;
  readonly expires: string;
  /** RGPs and EGPs that keep it from looking at itself: `egp root/hours`. */
  readonly governed: readonly string[];
}

const UNTOLD: TokenCheck = {
  valid: null,
  readable: false,
  by: "",
  name: "",
  expires: "",
  governed: [],
};

export async function checkToken(client: Client): Promise<TokenCheck> {
  for (const by of READS) {
    try {
      const { data } = await client.request("GET", by);
      const told = isObject(data) ? data : {};
      const text = (name: string) => (typeof told[name] === "string" ? told[name] : "");
      const [name, expires] = by === SELF ? ["Name", "ExpirationTime"] : VIEW_NAMES;
      return {
        valid: true,
        readable: true,
        by,
        name: text(name),
        expires: text(expires),
        governed: [],
      };
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.kind === "not-found" || error.kind === "unsupported") continue;
      if (error.kind !== "denied") throw error;
      // Programs are put to known tokens alone.
      const denial = governedDenial(error);
      if (denial !== null) {
        return { ...UNTOLD, valid: true, readable: true, by, governed: denial.policies };
      }
      // Every token may read itself: a refusal there is one of the token.
      const unknown =
        by === SELF || error.says("invalid token") || error.says("missing client token");
      // A known token without rights on this path is a good token all the same.
      const valid = unknown ? false : error.says("permission denied") ? true : null;
      return { ...UNTOLD, valid, by };
    }
  }
  return UNTOLD;
}
