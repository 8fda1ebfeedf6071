// Every way in which what our own SDK says is refused.

import { Failure, type FailureOptions } from "@holdfast/shared/failure";

const MAX_WORDS = 1024;

/**
 * @code plugin-transaction-refused A plugin asked for a transaction that no plugin may make.
 * @remedy Tell whoever made the plugin; the text says what is wrong.
 */
export function transactionRefused(why: string): Failure {
  return new Failure(
    "invalid",
    "plugin-transaction-refused",
    `a transaction of the plugin: ${why}`,
  );
}

/**
 * @code plugin-read-too-large A plugin asked for more of its storage at once than is handed out.
 * @remedy Tell whoever made the plugin: it is to read in smaller pages.
 */
export function readTooLarge(max: number): Failure {
  const message = `a plugin reads at most ${max} bytes of its storage at once`;
  return new Failure("too-large", "plugin-read-too-large", message);
}

/**
 * @code plugin-not-ready A plugin wrote before it was the one of its mount.
 * @remedy Tell whoever made the plugin: it writes when it is asked to, and not while it is opened.
 */
export function notReady(): Failure {
  const message = "nothing is written while the plugin is set up";
  return new Failure("unavailable", "plugin-not-ready", message);
}

/**
 * @code plugin-declaration-refused A plugin declares something that a mount cannot have.
 * @remedy Tell whoever made the plugin; the text names the declaration.
 */
export function declarationRefused(name: string, why: string, options?: FailureOptions): Failure {
  const message = `plugin "${name}" cannot be mounted: ${why}`;
  return new Failure("upstream", "plugin-declaration-refused", message, options);
}

/** Options are shown to whoever may see the mount: what a plugin says of them is told as it stands. */
export function optionsRefused({ kind, code, texts }: Failure): Failure {
  return new Failure(kind, code, texts.join("; ").slice(0, MAX_WORDS), { texts });
}

/**
 * @code plugin-answer-broken A plugin answered with something that is no answer.
 * @remedy Tell whoever made the plugin; the text says what is wrong.
 */
export function answerBroken(name: string, why: string): Failure {
  const message = `plugin "${name}" ${why}`;
  return new Failure("upstream", "plugin-answer-broken", message);
}
