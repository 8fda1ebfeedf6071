// Makes lines of what a terminal sends. A raw one sends keys: backspace, Ctrl-U, Ctrl-C and Ctrl-D are
// ours to honour there; arrow keys and the marks around pasted text are dropped.

// oxlint-disable-next-line no-control-regex -- keys arrive as escape sequences
const ESCAPES = /\u001b(?:\[[0-9;?]*[A-Za-z~]|O[A-Z]|.)/g;

export class Typing {
  readonly #maxLine: number;
  /** Complete lines that nobody has asked for yet: several shares can be pasted at once. */
  readonly #lines: (string | null)[] = [];
  #line = "";
  #afterReturn = false;
  #ended = false;
  #wake: (() => void) | null = null;

  constructor(maxLine: number) {
    this.#maxLine = maxLine;
  }

  /** The next line; null at the end of the input. */
  async next(): Promise<string | null> {
    while (this.#lines.length === 0) {
      if (this.#ended) return null;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    return this.#lines.shift() ?? null;
  }

  /** True when Ctrl-C was among the keys. */
  take(text: string, raw: boolean): boolean {
    for (const char of raw ? text.replace(ESCAPES, "") : text) {
      if (raw && char === "\u0003") return true;
      this.#key(char, raw);
    }
    this.#wake?.();
    return false;
  }

  end(): void {
    if (this.#line !== "") this.#push(this.#line);
    this.#ended = true;
    this.#wake?.();
  }

  #key(char: string, raw: boolean): void {
    // Windows and some terminals send both for one line.
    const secondOfTwo = char === "\n" && this.#afterReturn;
    this.#afterReturn = char === "\r";
    if (secondOfTwo) return;
    if (char === "\r" || char === "\n") return this.#push(this.#line);
    if (raw && char === "\u0004") return this.#push(this.#line === "" ? null : this.#line);
    if (raw && (char === "\u007f" || char === "\b")) this.#line = this.#line.slice(0, -1);
    else if (raw && char === "\u0015") this.#line = "";
    // No share or token comes near the limit; what is typed beyond it is left out.
    else if (char >= " " && this.#line.length < this.#maxLine) this.#line += char;
  }

  #push(line: string | null): void {
    this.#lines.push(line);
    this.#line = "";
  }
}
