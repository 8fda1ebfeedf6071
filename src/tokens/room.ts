// The room of tokens: one store of them, seen as the ACL API and as auth/token, and made by logins.

import { access } from "@holdfast/shared/endpoint/access";
import type { Served } from "@holdfast/shared/endpoint/endpoint";
import type { Nanos } from "@holdfast/shared/world";
import type { FairTurns } from "../base/fair-turns.ts";
import { declares, type DeclaredFile, type RoomPlan } from "../house/room.ts";
import { AclTokens, type AclTokensOptions } from "./acl/acl-tokens.ts";
import { tokensApi } from "./acl/api.ts";
import { AddressLimit } from "./address-limit.ts";
import { authTokenApi } from "./auth/api-auth-token.ts";
import { AuthTokens, type AuthTokensOptions } from "./auth/auth-tokens.ts";
import { LoginTokens, type LoginTokensOptions } from "./auth/login-tokens.ts";
import { Tokens, type TokensOptions } from "./tokens.ts";
import { UnknownSecrets, type UnknownSecretsOptions } from "./unknown-secrets.ts";

export interface TokensNeeds extends Required<Omit<TokensOptions, "maxCached">> {
  readonly turns: FairTurns;
  /** Name of the own region. */
  readonly region: () => string;
  readonly source: () => ReturnType<NonNullable<AclTokensOptions["source"]>> &
    ReturnType<UnknownSecretsOptions["source"]>;
  /** How long is waited for what the primary has written. */
  readonly sharedWait: Nanos;
  /** Whoever comes without a credential reads the anonymous token as its own. */
  readonly anonymousSelf: boolean;
  /** How long tokens of auth/token live. */
  readonly life: AuthTokensOptions["life"];
  readonly mounts: LoginTokensOptions["mounts"];
  readonly renewLogin: AuthTokensOptions["renewLogin"];
  readonly limits: AuthTokensOptions["limits"];
  readonly isProgram: AuthTokensOptions["isProgram"];
}

export interface TokensParts {
  readonly tokens: Tokens;
  readonly aclTokens: AclTokens;
  readonly authTokens: AuthTokens;
  readonly logins: LoginTokens;
  /** Failed authentications by address. */
  readonly attempts: AddressLimit;
  /** Failed logins by the cluster that has sent them on. */
  readonly memberAttempts: AddressLimit;
  /** Secrets that nobody has here. */
  readonly unknown: UnknownSecrets;
}

/** More than of an address: a region has many, and who fails there must not keep the others out. */
const OF_A_MEMBER = { perSecond: 50, burst: 250 };

export const tokensRoom: RoomPlan<TokensNeeds, TokensParts> = {
  name: "tokens",
  declares: [
    aclDeclarations(),
    declares(
      "src/tokens/auth/api-auth-token.ts",
      authTokenApi,
      ({ authTokens }: TokensParts) => authTokens,
    ),
  ],
  build: (needs) => {
    const { clock, timers, random, turns, region, source, anonymousSelf, life } = needs;
    const tokens = new Tokens(needs);
    const aclTokens = new AclTokens({
      tokens,
      clock,
      timers,
      turns,
      random,
      region,
      source,
      anonymousSelf,
    });
    const { renewLogin, limits, isProgram } = needs;
    const options = { renewLogin, limits, isProgram };
    return {
      tokens,
      aclTokens,
      authTokens: new AuthTokens({ tokens, clock, life, turns, ...options }),
      logins: new LoginTokens({ tokens, mounts: needs.mounts, clock, max: life.max }),
      attempts: new AddressLimit({ clock }),
      memberAttempts: new AddressLimit({ clock, ...OF_A_MEMBER }),
      unknown: new UnknownSecrets({
        source,
        salt: () => tokens.salt,
        clock,
        timers,
        wait: needs.sharedWait,
      }),
      created: (tx) => tokens.first.created(tx),
      open: () => {
        aclTokens.open();
        return tokens.open();
      },
      lead: () => aclTokens.open(), // also after a rest, which has answered those that waited
      interrupt: () => aclTokens.close(),
      close: () => {
        aclTokens.close();
        tokens.close();
      },
      jobs: tokens.jobs,
      followers: [tokens.follower],
      wipe: {
        reachesOutside: false,
        run: async (namespaceId) => {
          await tokens.writes.wipeNamespace(namespaceId);
          return true;
        },
      },
    };
  },
};

/** The switch `anonymous_self` opens one of them to callers without a credential. */
function aclDeclarations(): DeclaredFile<TokensParts> {
  const file = declares(
    "src/tokens/acl/api.ts",
    tokensApi,
    ({ aclTokens }: TokensParts) => aclTokens,
  );
  const opened = (endpoint: Served): Served =>
    endpoint.name === "readSelfToken" ? { ...endpoint, access: access.openWithCaller } : endpoint;
  return {
    ...file,
    serve: (parts) =>
      parts.aclTokens.anonymousSelf ? file.serve(parts).map(opened) : file.serve(parts),
  };
}
