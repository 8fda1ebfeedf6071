// The calls to the provider's directory that this engine makes: applications, their principals and
// passwords, groups. Each is one request; what is tried again is decided by whoever asks.

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { parseTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import { arrayIn, neededText, textIn, unreadable } from "./provider-answer.ts";
import type { Service } from "./bearer-calls.ts";
import { path, quoted } from "./url-path.ts";

/** What holds passwords. */
export type Holder = "applications" | "servicePrincipals";

export interface Application {
  readonly id: string;
  readonly appId: string;
  readonly displayName: string;
  readonly passwords: readonly PasswordEntry[];
}

export interface PasswordEntry {
  readonly keyId: string;
  readonly displayName: string;
  /** How it begins. */
  readonly hint: string;
}

export interface NewPassword {
  readonly text: string;
  readonly keyId: string;
  /** As the provider has it, which may be earlier than asked for. */
  readonly ends: Instant;
}

const NEXT = "@odata.nextLink";
const FIELDS = "$select=id,appId,displayName,passwordCredentials";

export class Graph {
  readonly #service: Service;

  constructor(service: Service) {
    this.#service = service;
  }

  async createApplication(body: JsonObject, signal: AbortSignal): Promise<Application> {
    const step = "creating the application";
    const request = {
      step,
      action: "createApplication",
      method: "POST",
      path: "/v1.0/applications",
      body,
    } as const;
    const { body: made } = await this.#service.call(request, signal);
    return applicationIn(step, made);
  }

  /** Null where there is none. */
  async application(id: string, signal: AbortSignal): Promise<Application | null> {
    const step = "reading the application";
    const where = `${path`/v1.0/applications/${id}`}?${FIELDS}`;
    const found = await this.#service.find({ step, action: "getApplication", path: where }, signal);
    return found === null ? null : applicationIn(step, found);
  }

  applicationsNamed(displayName: string, signal: AbortSignal): Promise<Application[]> {
    return this.#applications(`displayName eq ${quoted(displayName)}`, signal);
  }

  applicationsOf(appId: string, signal: AbortSignal): Promise<Application[]> {
    return this.#applications(`appId eq ${quoted(appId)}`, signal);
  }

  async createPrincipal(appId: string, signal: AbortSignal): Promise<string> {
    const step = "creating the service principal";
    const request = {
      step,
      action: "createServicePrincipal",
      method: "POST",
      path: "/v1.0/servicePrincipals",
      body: { appId },
    } as const;
    const { body } = await this.#service.call(request, signal);
    return neededText(step, body, "id");
  }

  /** Null where there is none. */
  async principalOf(appId: string, signal: AbortSignal): Promise<Application | null> {
    const step = "reading the service principal";
    const where = `/v1.0/servicePrincipals(appId=${encodeURIComponent(quoted(appId.toWellFormed()))})?${FIELDS}`;
    const found = await this.#service.find(
      { step, action: "getServicePrincipal", path: where },
      signal,
    );
    return found === null ? null : applicationIn(step, found);
  }

  async addPassword(
    holder: Holder,
    id: string,
    passwordCredential: JsonObject,
    signal: AbortSignal,
  ): Promise<NewPassword> {
    const step = "adding the password";
    const request = {
      step,
      action: "addPassword",
      method: "POST",
      path: `/v1.0/${holder}${path`/${id}/addPassword`}`,
      body: { passwordCredential },
    } as const;
    const { body } = await this.#service.call(request, signal);
    return {
      text: neededText(step, body, "secretText"),
      keyId: neededText(step, body, "keyId"),
      ends: timeIn(step, body, "endDateTime"),
    };
  }

  /** One that is not there is removed already. */
  async removePassword(
    holder: Holder,
    id: string,
    keyId: string,
    signal: AbortSignal,
  ): Promise<void> {
    const step = `removing password ${keyId} of ${id}`;
    const where = `/v1.0/${holder}${path`/${id}/removePassword`}`;
    const request = {
      step,
      action: "removePassword",
      method: "POST",
      path: where,
      body: { keyId },
    } as const;
    await this.#service.remove(
      request,
      signal,
      (error) =>
        // There is no code for it.
        error.status === 400 && error.says(/no password credential/i),
    );
  }

  deleteApplication(id: string, signal: AbortSignal): Promise<boolean> {
    const step = `deleting application ${id}`;
    const where = path`/v1.0/applications/${id}`;
    return this.#service.remove(
      { step, action: "deleteApplication", method: "DELETE", path: where },
      signal,
    );
  }

  deletePrincipal(id: string, signal: AbortSignal): Promise<boolean> {
    const step = `deleting service principal ${id}`;
    const where = path`/v1.0/servicePrincipals/${id}`;
    return this.#service.remove(
      { step, action: "deleteServicePrincipal", method: "DELETE", path: where },
      signal,
    );
  }

  /** What was deleted, and could be restored, is gone for good. False: it is not among those. */
  deleteForGood(id: string, signal: AbortSignal): Promise<boolean> {
    const step = `permanently deleting ${id}`;
    const where = path`/v1.0/directory/deletedItems/${id}`;
    return this.#service.remove(
      { step, action: "deleteDeletedItem", method: "DELETE", path: where },
      signal,
    );
  }

  // --- inside ---

  async #applications(filter: string, signal: AbortSignal): Promise<Application[]> {
    const step = "looking for the application";
    const where = `/v1.0/applications?$filter=${encodeURIComponent(filter.toWellFormed())}&${FIELDS}`;
    const found = await this.#service.list(
      { step, action: "listApplications", path: where },
      NEXT,
      signal,
    );
    return found.map((one) => applicationIn(step, one));
  }
}

function applicationIn(step: string, body: JsonObject): Application {
  return {
    id: neededText(step, body, "id"),
    appId: neededText(step, body, "appId"),
    displayName: textIn(body, "displayName"),
    passwords: arrayIn(body, "passwordCredentials")
      .filter(isObject)
      .map((one) => ({
        keyId: textIn(one, "keyId"),
        displayName: textIn(one, "displayName"),
        hint: textIn(one, "hint"),
      })),
  };
}

function timeIn(step: string, body: JsonObject, name: string): Instant {
  try {
    const found = parseTime(textIn(body, name));
    if (found !== null) return found;
  } catch {
    // Told below.
  }
  throw unreadable(step, `the answer has no ${name}`);
}
