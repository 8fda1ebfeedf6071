// One of the provider's services: calls with a token of its scope, which is renewed once when the service
// does not take it any more, and lists that come in pages.

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import type { Call, Http } from "./http.ts";
import { ProviderError } from "../../cloud/provider-error.ts";
import { type Answer, arrayIn, textIn, unreadable } from "./provider-answer.ts";
import type { Tokens } from "./token.ts";

export interface ServiceParts {
  readonly http: Http;
  readonly tokens: Tokens;
  /** Without a slash at the end. */
  readonly base: string;
  readonly identity: string;
  /** The secrets of the connection, which no error may show. */
  readonly secrets: readonly string[];
}

export interface Request {
  readonly step: string;
  readonly action: string;
  readonly method?: Call["method"];
  /** Below the base, with its query; made by url-path.ts. */
  readonly path: string;
  readonly body?: JsonObject;
}

const MAX_PAGES = 100;

export class Service {
  readonly #parts: ServiceParts;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  get base(): string {
    return this.#parts.base;
  }

  call(request: Request, signal: AbortSignal): Promise<Answer> {
    return this.#send(request, new URL(this.#parts.base + request.path), signal);
  }

  /** The elements of all pages, at most `max` of them. */
  async list(
    request: Request,
    next: string,
    signal: AbortSignal,
    max = Infinity,
  ): Promise<JsonObject[]> {
    const found: JsonObject[] = [];
    let url = new URL(this.#parts.base + request.path);
    for (let page = 0; page < MAX_PAGES; page++) {
      const { body } = await this.#send(request, url, signal);
      found.push(...arrayIn(body, "value").filter(isObject));
      const link = textIn(body, next);
      if (link === "" || found.length >= max) return found;
      url = this.#following(request.step, link);
    }
    throw unreadable(request.step, "the list does not end");
  }

  /** Null where what is asked for is not there. */
  async find(request: Request, signal: AbortSignal): Promise<JsonObject | null> {
    try {
      return (await this.call(request, signal)).body;
    } catch (error) {
      if (error instanceof ProviderError && error.gone) return null;
      throw error;
    }
  }

  /** False: it was not there. Only that counts as gone (T-I07). */
  async remove(
    request: Request,
    signal: AbortSignal,
    isGone: (error: ProviderError) => boolean = () => false,
  ): Promise<boolean> {
    try {
      await this.call(request, signal);
      return true;
    } catch (error) {
      if (error instanceof ProviderError && (error.gone || isGone(error))) return false;
      throw error;
    }
  }

  async #send(request: Request, url: URL, signal: AbortSignal): Promise<Answer> {
    const { http, tokens, base, identity, secrets } = this.#parts;
    const { step, action, method = "GET", body } = request;
    const send = async (token: string) =>
      http.send({
        step,
        action,
        method,
        url,
        headers: { authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body }),
        signal,
        secrets: [token, ...secrets],
        identity,
      });
    const token = await tokens.for(base, signal);
    try {
      return await send(token);
    } catch (error) {
      if (!(error instanceof ProviderError) || error.status !== 401) throw error;
      tokens.drop(base, token);
      return send(await tokens.for(base, signal));
    }
  }

  /** Where the service says that its list goes on: at itself, or nowhere. Our token goes with it. */
  #following(step: string, link: string): URL {
    const { base } = this.#parts;
    if (URL.canParse(link) && link.startsWith(`${base}/`)) {
      const url = new URL(link);
      if (url.origin === new URL(base).origin) return url;
    }
    throw unreadable(step, "the list goes on somewhere else");
  }
}
