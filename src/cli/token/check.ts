// Whether the server knows a token, found out by a read that changes nothing. The first of these
// endpoints that the server has decides; the route is looked up before the token, so that 404 says
// nothing about the token.

import { ApiError } from "@holdfast/client/api-error";
import type { Client } from "@holdfast/client/client";
import * as policies from "@holdfast/client/api/policies";
import * as seal from "@holdfast/client/api/seal";
import * as tokens from "@holdfast/client/api/tokens";
import { governedDenial } from "../advice/policy-advice.ts";

interface Read {
  /** What it is called. */
  readonly by: string;
  /** Of every token. */
  readonly own: boolean;
  readonly ask: (client: Client) => Promise<Pick<TokenCheck, "name" | "expires">>;
}

const READS: readonly Read[] = [
  {
    by: "auth/token/lookup-self",
    own: false,
    ask: async (client) => {
      const { data } = await tokens.authTokenLookupSelf(client);
      return { name: text(data.display_name), expires: text(data.expire_time) };
    },
  },
  {
    by: "acl/token/self",
    own: true,
    ask: async (client) => {
      const { data } = await tokens.readSelfToken(client);
      return { name: text(data.Name), expires: text(data.ExpirationTime) };
    },
  },
  {
    by: "sys/internal/ui/resultant-acl",
    own: false,
    ask: async (client) => (await policies.resultantAcl(client), UNNAMED),
  },
  {
    by: "sys/key-status",
    own: false,
    ask: async (client) => (await seal.keyStatus(client), UNNAMED),
  },
];

const UNNAMED = { name: "", expires: "" };

function text(value: string | null | undefined): string {
  return value ?? "";
}

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
  for (const { by, own, ask } of READS) {
    try {
      return { valid: true, readable: true, by, ...(await ask(client)), governed: [] };
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
      const unknown = own || error.says("invalid token") || error.says("missing client token");
      // A known token without rights on this path is a good token all the same.
      const valid = unknown ? false : error.says("permission denied") ? true : null;
      return { ...UNTOLD, valid, by };
    }
  }
  return UNTOLD;
}
