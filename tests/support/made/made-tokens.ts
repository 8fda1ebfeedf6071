// The room of tokens over a barrier in memory, in a world that stands still: for its own tests.

import assert from "node:assert/strict";
import { Failure, type FailureKind } from "@holdfast/shared/failure";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { EndedToken } from "../../../src/tokens/life/expiry.ts";
import type { Token } from "../../../src/tokens/token.ts";
import { Tokens, type TokensOptions } from "../../../src/tokens/tokens.ts";
import { nextTurn } from "../fake-world.ts";
import { crashed, type MadeBarrier, madeBarrier, unsealed } from "./made-barrier.ts";
import { openRoom } from "../jobs.ts";

export const SECOND = 1_000_000_000n;
export const MINUTE = 60n * SECOND;
export const HOUR = 60n * MINUTE;
export const TEAM: NamespaceRef = { id: "t1", path: "team", created: 3n };
export const CLIENT = { type: "client", namespaceId: "root", policies: ["readonly"] } as const;
export const MANAGEMENT = { type: "management", namespaceId: "root" } as const;

export interface MadeTokens extends MadeBarrier {
  readonly tokens: Tokens;
  /** `namespace/accessor` of every token whose end was told. */
  readonly ended: string[];
  /** Namespaces that are there; a test may take one away. */
  readonly spaces: Map<string, NamespaceRef>;
}

/** Closed, as it comes. */
export function tokensOver(made: MadeBarrier, more: Partial<TokensOptions> = {}): MadeTokens {
  const { barrier, world } = made;
  const ended: string[] = [];
  const spaces = new Map([ROOT_NAMESPACE, TEAM].map((space) => [space.id, space]));
  const ends = (_tx: unknown, { namespaceId, accessor }: EndedToken) =>
    void ended.push(`${namespaceId}/${accessor}`);
  const tokens = new Tokens({
    shared: barrier.view("shared/"),
    local: barrier.view("local/"),
    namespaces: { byId: (id) => spaces.get(id) ?? null },
    ...world,
    ending: { ends },
    ...more,
  });
  return { ...made, tokens, ended, spaces };
}

export async function madeTokens(more: Partial<TokensOptions> = {}): Promise<MadeTokens> {
  const made = tokensOver(await madeBarrier(), more);
  await made.barrier.view("shared/").write((tx) => made.tokens.first.created(tx));
  openRoom(made.tokens);
  return made;
}

/** The process dies with what it has on its way; the next one is unsealed at the same time of day. */
export async function restarted(
  before: MadeTokens,
  more: Partial<TokensOptions> = {},
): Promise<MadeTokens> {
  const made = tokensOver(await crashed(before), more);
  made.world.clock.jump(before.world.clock.now());
  assert.equal(unsealed(made.barrier), true);
  openRoom(made.tokens);
  return made;
}

export function secretOf({ secret }: Pick<Token, "secret">): string {
  return secret.reveal();
}

export function keysBelow({ barrier }: MadeBarrier, prefix: string): string[] {
  return barrier.view(prefix).keys("", { limit: 100_000 });
}

/** For assert.rejects: a Failure with this text, of this kind (default: of input). */
export function refused(
  says: string | RegExp,
  kind: FailureKind = "invalid",
): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.kind, kind, error.message);
    const text = error.texts.join("\n");
    if (typeof says === "string") assert.equal(text, says);
    else assert.match(text, says);
    return true;
  };
}

/** The text of a refusal that names these problems. */
export function problemsText(...problems: readonly string[]): string {
  const count = problems.length === 1 ? "1 error" : `${problems.length} errors`;
  const lines = problems.map((problem) => `\t* ${problem}\n`).join("");
  return `token 0 invalid: ${count} occurred:\n${lines}\n`;
}

/** Lets work in the background come to its end. */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i += 1) await nextTurn();
}
