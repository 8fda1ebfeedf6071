// Which account of the provider something was made in. After config/root has moved to another one "it is
// not there" means nothing: it is said of everything that lives on in the first (T-I02, T-I07).

import { otherAccount } from "../failures.ts";
import type { JsonObject } from "@holdfast/shared/json/json";
import type { CloudAProvider } from "./provider.ts";

const ACCOUNT = /^arn:[^:]*:[^:]*:[^:]*:(\d{12}):/;

/** The account of some clients, once an answer has told it: none of theirs is ever of another. */
export class OwnAccount {
  #id: string | null = null;

  get id(): string | null {
    return this.#id;
  }

  learn(id: string | null): void {
    this.#id ??= id === "" ? null : id;
  }
}

/** Null where an ARN tells none. */
export function accountOf(arn: string): string | null {
  return ACCOUNT.exec(arn)?.[1] ?? null;
}

/** As leases and records keep it; null for those that do not. */
export function accountIn(data: JsonObject): string | null {
  const { account } = data;
  return typeof account === "string" && account !== "" ? account : null;
}

/** To be asked before "it is not there" is believed. */
export async function checkAccount(
  provider: CloudAProvider,
  account: string | null,
): Promise<void> {
  if (account !== null) compare(account, await provider.account());
}

/** The same as far as it costs no call. */
export function checkKnownAccount(provider: CloudAProvider, account: string | null): void {
  const known = provider.knownAccount();
  if (account !== null && known !== null) compare(account, known);
}

function compare(account: string, now: string): void {
  if (account === now) return;
  const message =
    `this was made in account ${account}, but config/root has credentials of account ${now}: ` +
    "it cannot be removed with these";
  throw otherAccount(message);
}
