// Which quota a request falls under. The most specific one applies alone: a path, a longer pattern
// before a shorter one, then the mount, the namespace, the nearest namespace above whose quota is
// inherited, and last the one on every request. Roles of logins would come first; there are none yet.

import { matches } from "./quota.ts";

export interface Rule {
  readonly quota: { readonly path: string; readonly inheritable: boolean };
}

export class QuotaChoice<R extends Rule> {
  readonly #byPath = new Map<string, R>();
  readonly #patterns: readonly R[];

  constructor(rules: Iterable<R>) {
    const patterns: R[] = [];
    for (const rule of rules) {
      if (rule.quota.path.endsWith("*")) patterns.push(rule);
      else this.#byPath.set(rule.quota.path, rule);
    }
    this.#patterns = patterns.toSorted((a, b) => b.quota.path.length - a.quota.path.length);
  }

  /** `base` is the namespace with a slash at its end, or empty for root; `path` the whole path. */
  choose(base: string, mountPoint: string, path: string): R | null {
    const byPath = this.#byPath;
    return (
      byPath.get(path) ??
      this.#patterns.find(({ quota }) => matches(quota.path, path)) ??
      byPath.get(base + mountPoint) ??
      byPath.get(base) ??
      this.#inherited(base)
    );
  }

  #inherited(base: string): R | null {
    for (let at = parentOf(base); at !== null; at = parentOf(at)) {
      const rule = this.#byPath.get(at);
      if (rule?.quota.inheritable) return rule;
    }
    return null;
  }
}

/** team/apps/ → team/ → "" → null */
function parentOf(base: string): string | null {
  return base === "" ? null : base.slice(0, base.lastIndexOf("/", base.length - 2) + 1);
}
