// The users that static roles manage, as the provider knows them: by a name that can be given again and an id
// that cannot.

import type { JsonObject } from "@holdfast/shared/json/json";
import { ProviderError } from "../../cloud/provider-error.ts";
import type { CloudAProvider, CloudUser } from "../provider/provider.ts";
import * as failures from "./static-failures.ts";

/** Of whoever changes the keys of this user: one at a time. */
export const userLock = (username: string) => `user/${username}`;

/** Whose keys a note speaks of. */
export function userOf({ data }: { readonly data: JsonObject }): string {
  const username = data["username"];
  return typeof username === "string" ? username : "";
}

/** The user by its name, who must be the one of this id unless none is known yet. */
export async function adoptedUser(
  provider: CloudAProvider,
  { username, id }: { readonly username: string; readonly id: string | null },
): Promise<CloudUser> {
  const user = await provider.getUser(username);
  if (user.name !== username) throw failures.otherUser(username, user.name);
  if (id !== null && user.id !== id) throw new failures.UserReplaced(username);
  return user;
}

/** The same for whoever writes a static role, in words about the user. */
export async function adoptableUser(
  provider: CloudAProvider,
  username: string,
  id: string | null,
): Promise<CloudUser> {
  try {
    return await adoptedUser(provider, { username, id });
  } catch (error) {
    if (error instanceof ProviderError && error.kind === "refused") {
      throw failures.userUnreadable(username, error);
    }
    throw error;
  }
}

/** Who we are at the provider; null where we are no user, or may not know. */
export async function rootUser(provider: CloudAProvider): Promise<string | null> {
  try {
    return (await provider.getUser()).name;
  } catch (error) {
    if (error instanceof ProviderError && error.kind === "refused") return null;
    throw error;
  }
}
